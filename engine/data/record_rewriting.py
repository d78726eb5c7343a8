"""A user's file of records written again with other responses and fewer records; everything else stays as it came."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import in_utf8
from engine.data.records import Record, parse_lines, split_lines


def jsonl(records: Iterable[Record]) -> str:
    """One record a line, as `engine.data.records.read_jsonl` reads them."""
    return "".join(json.dumps(record.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False) + "\n"
                   for record in records)


def rewritten(content: bytes, records: Sequence[Record], left: Mapping[int, Record]) -> str:
    """The lines of a JSONL whose records are left, in their order.

    records: those that were read of it; left: the number of each that stays -> it as it shall be. A line whose record
    stays as it is comes back unchanged; in another the response is replaced where the line has it, in whatever form it
    is written. What is no file of one record a line is written as `jsonl`.
    """
    lines = [line for line in split_lines(in_utf8(content)) if line and not line.isspace()]
    if len(lines) != len(records):
        return jsonl(left.values())
    return "".join(f"{lines[row]}\n" if record == records[row] else _with(lines[row], records[row], record)
                   for row, record in left.items())


def _with(line: str, before: Record, after: Record) -> str:
    """The line with another response, or, where that does not say all that changes, the record as `jsonl`."""
    changed, count = _replaced(json.loads(line), before.response, after.response)
    if count == 1 and isinstance(changed, dict):
        if "spans" in changed:
            changed["spans"] = after.model_dump(mode="json")["spans"]
        text = json.dumps(changed, ensure_ascii=False)
        try:
            if [one.model_copy(update={"id": after.id}) for one in parse_lines([text])] == [after]:
                return text + "\n"
        except InvalidInput:  # keys that say where the answer stands fit no more
            pass
    return jsonl([after])


def _replaced(value: Any, old: str, new: str) -> tuple[Any, int]:
    """(JSON with a text replaced, how often it occurs)."""
    if isinstance(value, str):
        return (new, 1) if value.strip() == old.strip() else (value, 0)
    if not isinstance(value, (dict, list)):
        return value, 0
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    inner = {key: _replaced(value[key], old, new) for key in keys}
    items = {key: one for key, (one, _) in inner.items()}
    return (items if isinstance(value, dict) else list(items.values())), sum(count for _, count in inner.values())
