"""A user's own records: a JSONL file to fine-tune on, and another, or its last records, to ask about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.files import read_whole
from engine.data.records import Record, read_jsonl
from engine.data.tasks.task import Task, TaskKind


def build(settings: Mapping[str, Any]) -> Task:
    """`train` names a JSONL file. The queries are those of `queries` (a file, or records), else the last `held`.

    turns: of conversations, `last` or `every` answer is a record; mark: span -> a pattern, as
    `engine.data.records.marked` takes them. Every flag that occurs is sought; records that carry one are taken to
    support what is asked about.
    """
    return of_records(_read(settings["train"], settings), settings)


def of_records(records: tuple[Record, ...], settings: Mapping[str, Any]) -> Task:
    """`build` for records that were read."""
    if settings.get("queries"):
        queries = _read(settings["queries"], settings)
    else:
        held = int(settings.get("held", SIZES["held"]))
        if not 0 < held < len(records):
            raise InvalidInput(f"{held} of {len(records)} records cannot be held out as queries; give more records, or "
                               "a file of queries.")
        records, queries = records[:-held], records[-held:]
    flags = sorted({flag for record in records for flag in record.flags} - {"clean"})
    return Task(KIND.name, records, {"queries": queries}, "queries", int(settings.get("sign", 1)),
                {flag: flag for flag in flags})


def content_of(settings: Mapping[str, Any]) -> bytes:
    """What is in the file that holds all records of a task; nothing where no file does."""
    named = isinstance(settings["train"], str) and not settings.get("queries")
    return read_whole(Path(settings["train"]), "file") if named else b""


def asking(settings: Mapping[str, Any], queries: Sequence[Record]) -> dict[str, Any]:
    """The settings of a run that asks about records of its own: where nothing says what is held out, nothing is, and
    every record is trained on and scored."""
    if not queries or settings.get("name") != KIND.name or settings.get("queries") or "held" in settings:
        return dict(settings)
    return {**settings, "queries": [record.model_dump(mode="json", exclude_defaults=True) for record in queries]}


def _read(given: Any, settings: Mapping[str, Any]) -> tuple[Record, ...]:
    if not isinstance(given, str):
        return tuple(map(Record.parse, given))
    turns = settings.get("turns", "last")
    if turns not in ("last", "every"):
        raise InvalidInput(f"`turns` is `{str(turns)[:40]}`; use `last` or `every`.")
    return read_jsonl(given, turns, settings.get("mark"))


SIZES = {"held": 8}
KIND = TaskKind("own", "Your own records", "A JSONL file of prompts and responses.", build, SIZES)
