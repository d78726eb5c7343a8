"""What people decided about training records of a language model, and the JSONL that is left of them."""

from __future__ import annotations

import json
import time
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

import pandas as pd

from engine.applications.decisions import FINE, LONGEST_NOTE, UNSURE, WRONG, Decision, Decisions
from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.data.records import Record
from engine.data.tasks import Task

VERDICTS = {WRONG: "take out", FINE: "keep", UNSURE: "unsure"}
"""A record has no label that could be put right: a wrong one is taken out."""
COLUMNS = ("data", "record", "id", "verdict", "note", "decided_at", "prompt", "response")


def without(records: Sequence[Record], out: Container[int]) -> list[Record]:
    """The records whose places are not in `out`. Raises `InvalidInput` where nothing would be left."""
    left = [record for row, record in enumerate(records) if row not in out]
    if not left:
        raise InvalidInput("All records are removed; retain some of them.")
    return left


def jsonl(records: Iterable[Record]) -> str:
    """One record a line, as `engine.data.records.read_jsonl` reads them."""
    return "".join(json.dumps(record.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False) + "\n"
                   for record in records)


class RecordReview(Decisions):
    """The decisions about the training records of a task, whatever model was trained on them."""

    def __init__(self, task: Task, root: Path | str | None = None, session: str = "") -> None:
        super().__init__(task.fingerprint, root, session)
        self.records = task.train

    def table(self) -> pd.DataFrame:
        """The decisions as they are exported, one row a decision; `record` is the place of a record, from 0."""
        return pd.DataFrame([
            (self.fingerprint, decision.row, record.id, VERDICTS[decision.verdict], decision.note,
             time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(decision.at)), record.prompt, record.response)
            for decision in self.decisions().values() for record in [self.records[decision.row]]],
            columns=list(COLUMNS))

    def to_csv(self) -> str:
        """The decisions as CSV; texts that a spreadsheet would take for a formula are quoted with an apostrophe."""
        return csv_text(self.table())

    def cleaned(self, others: Iterable[Record] = ()) -> str:
        """The records that are not taken out as JSONL, in their order, and then `others`, such as held-out queries of
        the same file. Raises `InvalidInput` where nothing would be left."""
        out = {row for row, decision in self.decisions().items() if decision.verdict == WRONG}
        return jsonl([*without(self.records, out), *others])

    def _checked(self, decision: Decision) -> Decision:
        if decision.verdict not in VERDICTS:
            raise InvalidInput(f"`{decision.verdict[:40]}` is no verdict; use {', '.join(VERDICTS)}.")
        if not 0 <= decision.row < len(self.records):
            raise InvalidInput(f"There is no training record {decision.row}; they are numbered 0 to "
                               f"{len(self.records) - 1:,}.")
        if decision.label is not None:
            raise InvalidInput("A record has no label to correct; remove it or retain it.")
        if len(decision.note) > LONGEST_NOTE:
            raise InvalidInput(f"The note is longer than {LONGEST_NOTE:,} letters; shorten it.")
        return decision
