"""What people decided about training records of a language model, and the JSONL that is left of them."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from pathlib import Path

import pandas as pd

from engine.applications.decisions import FINE, UNSURE, WRONG, Decision, Decisions
from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput
from engine.data.record_rewriting import rewritten
from engine.data.records import Record, with_answer, with_response
from engine.data.tasks import Task

VERDICTS = {WRONG: "take out", FINE: "keep", UNSURE: "unsure"}
CORRECTED = "corrected"
"""A wrong record whose right answer or response is known gets that; the others are taken out."""
COLUMNS = ("data", "record", "id", "verdict", "answer", "note", "decided_at", "prompt", "response")
MOST_CHOICES = 26
"""Choices of all records that one can be corrected to; words that differ from record to record are more."""


def without(records: Sequence[Record], out: Container[int]) -> dict[int, Record]:
    """Number -> record, of those that are not in `out`. Raises `InvalidInput` where nothing would be left."""
    left = {row: record for row, record in enumerate(records) if row not in out}
    if not left:
        raise InvalidInput("All records would be removed; keep some of them.")
    return left


def corrected(record: Record, right: str) -> Record:
    """The record with the right answer, where it states one of these choices, else with the right response. Raises
    `InvalidInput` as `with_answer` and `with_response` do."""
    answers = record.choices if "answer" in record.spans else ()
    return with_answer(record, right) if right in answers else with_response(record, right)


class RecordReview(Decisions):
    """The decisions about the training records of a task, whatever model was trained on them."""

    def __init__(self, task: Task, root: Path | str | None = None, session: str = "") -> None:
        super().__init__(task.fingerprint, root, session)
        self.records = task.train
        choices = tuple(dict.fromkeys(one for record in task.train if "answer" in record.spans
                                      for one in record.choices))
        self.choices = choices if len(choices) <= MOST_CHOICES else ()

    def given(self, row: int) -> int | None:
        """Which of `choices` is the answer of a record; None where it has none of them."""
        answer = answer_of(self.records[row])
        return self.choices.index(answer) if answer in self.choices else None

    def words(self, decision: Decision) -> tuple[str, str]:
        """The verdict as files have it, and the right answer or response, empty where none is known."""
        right = decision.text if decision.label is None else self.choices[decision.label]
        return (CORRECTED if right else VERDICTS[decision.verdict]), right

    def table(self) -> pd.DataFrame:
        """The decisions as they are exported, one row a decision; `record` is the index of a record, from 0, `answer`
        the right one, or the whole right response, where it is known."""
        return pd.DataFrame([
            (self.fingerprint, decision.row, record.id, *self.words(decision), decision.note,
             time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(decision.at)), record.prompt, record.response)
            for decision in self.decisions().values() for record in [self.records[decision.row]]],
            columns=list(COLUMNS))

    def to_csv(self) -> str:
        """The decisions as CSV; texts that a spreadsheet would take for a formula are quoted with an apostrophe."""
        return csv_text(self.table())

    def cleaned(self, others: Sequence[Record] = (), content: bytes = b"") -> str:
        """The records as JSONL, in their order, with right answers and responses and without wrong ones of which none
        is known, and then `others`, such as held-out queries of the same file. content: of the file that holds all of
        them, whose other lines are unchanged. Raises `InvalidInput` where nothing would be left."""
        wrong = {row: self.words(one)[1] for row, one in self.decisions().items() if one.verdict == WRONG}
        left = {row: corrected(record, right) if (right := wrong.get(row)) else record for row, record in without(
            self.records, {row for row, right in wrong.items() if not right}).items()}
        return rewritten(content, (*self.records, *others), {**left, **dict(enumerate(others, len(self.records)))})

    def _check(self, decision: Decision) -> None:
        if not 0 <= decision.row < len(self.records):
            raise InvalidInput(f"There is no training record {decision.row}; they are numbered 0 to "
                               f"{len(self.records) - 1:,}.")
        if decision.verdict != WRONG and (decision.text or decision.label is not None):
            raise InvalidInput("Only the verdict `wrong` takes a correct answer or response; leave it out.")
        if decision.label is not None:
            self._check_answer(decision, decision.label)
        elif decision.text:
            corrected(self.records[decision.row], decision.text)

    def _check_answer(self, decision: Decision, label: int) -> None:
        if label not in range(len(self.choices)):
            raise InvalidInput(f"There is no answer {label}; use 0 to {len(self.choices) - 1}.")
        with_answer(self.records[decision.row], self.choices[label])
        if label == self.given(decision.row):
            raise InvalidInput("The right answer equals the given one; choose another, or mark the answer as fine.")


def answer_of(record: Record) -> str:
    """The stated answer of a record; empty where it states none."""
    start, end = record.spans.get("answer", (0, 0))
    return record.response[start:end].strip()
