"""A user's own records: a JSONL file to fine-tune on, and another, or its last records, to ask about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.basics.errors import InvalidInput
from engine.data.records import Record, read_jsonl
from engine.data.tasks.task import Task, TaskKind


def build(settings: Mapping[str, Any]) -> Task:
    """`train` names a JSONL file. The queries are those of `queries` (a file, or records), else the last `held`.

    Every flag that occurs is sought; records that carry one are taken to support what is asked about.
    """
    records = read_jsonl(settings["train"]) if isinstance(settings["train"], str) else _parsed(settings["train"])
    if settings.get("queries"):
        given = settings["queries"]
        queries = read_jsonl(given) if isinstance(given, str) else _parsed(given)
    else:
        held = int(settings.get("held", SIZES["held"]))
        if not 0 < held < len(records):
            raise InvalidInput(f"{held} of {len(records)} records cannot be held out as queries; give more records, or "
                               "a file of queries.")
        records, queries = records[:-held], records[-held:]
    flags = sorted({flag for record in records for flag in record.flags} - {"clean"})
    return Task(KIND.name, records, {"queries": queries}, "queries", int(settings.get("sign", 1)),
                {flag: flag for flag in flags})


def _parsed(data: Iterable[Any]) -> tuple[Record, ...]:
    return tuple(Record.parse(item) for item in data)


SIZES = {"held": 8}
KIND = TaskKind("own", "Your own records", "A JSONL file of prompts and responses.", build, SIZES)
