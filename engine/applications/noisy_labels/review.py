"""What people decided about suspicious labels, and what comes of it."""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from engine.applications.decisions import FINE, LONGEST_NOTE, UNSURE, WRONG, Decision, Decisions
from engine.applications.noisy_labels.source import NoisyData
from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput

VERDICTS = {WRONG: "wrong label", FINE: "fine", UNSURE: "unsure"}
MOST_BYTES = 50_000_000
COLUMNS = ("data", "row", "dataset_row", "given_label", "given_name", "verdict", "right_label", "right_name", "note",
           "decided_at")


class Review(Decisions):
    """The decisions about the labels of one dataset."""

    def __init__(self, data: NoisyData, root: Path | str | None = None, session: str = "") -> None:
        super().__init__(data.fingerprint, root, session)
        self.data = data

    def table(self) -> pd.DataFrame:
        """The decisions as they are exported, one row a decision."""
        given, names, rows = self.data.evidence.y, self.data.dataset.class_names, []
        files = self.data.dataset.files
        for decision in self.decisions().values():
            label = decision.label
            rows.append((self.data.fingerprint, decision.row, int(self.data.rows[decision.row]),
                         int(given[decision.row]), names[given[decision.row]], decision.verdict,
                         "" if label is None else str(label), "" if label is None else names[label], decision.note,
                         time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(decision.at))))
        table = pd.DataFrame(rows, columns=list(COLUMNS))
        if files:
            table.insert(1, "file", [files[self.data.rows[row]] for row in self.decisions()])
        return table

    def to_csv(self) -> str:
        """The decisions as CSV; texts that a spreadsheet would take for a formula are quoted with an apostrophe."""
        return csv_text(self.table())

    def import_csv(self, content: bytes) -> int:
        """Add the decisions of an exported file; how many. All of them or none.

        Raises `InvalidInput` for another file, and for a review of another dataset.
        """
        return self.add(self._parsed(content))

    def _parsed(self, content: bytes) -> list[Decision]:
        if len(content) > MOST_BYTES:
            raise InvalidInput(f"The review file is larger than {MOST_BYTES // 1_000_000} MB; give an exported one.")
        try:
            table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, encoding="utf-8")
        except (ValueError, pd.errors.ParserError):
            raise InvalidInput("The review file is not a CSV that can be read; give one that was exported "
                               "here.") from None
        if missing := [column for column in COLUMNS if column not in table]:
            raise InvalidInput(f"The review file has no column `{missing[0]}`; give one that was exported here.")
        if (table["data"] != self.data.fingerprint).any():
            raise InvalidInput("This review is of another dataset, or of another draw or noise of it; choose the data "
                               "that it was made on, and import it there.")
        now = time.time()
        try:
            return [Decision(int(row), verdict, int(label) if label else None, note.removeprefix("'"), now)
                    for row, verdict, label, note in zip(table["row"], table["verdict"], table["right_label"],
                                                         table["note"], strict=True)]
        except ValueError:
            raise InvalidInput("The review file has a row or a label that is not a number; correct it.") from None

    def _checked(self, decision: Decision) -> Decision:
        classes, n = self.data.evidence.classes, len(self.data.evidence.y)
        if decision.verdict not in VERDICTS:
            raise InvalidInput(f"`{decision.verdict[:40]}` is no verdict; use {', '.join(VERDICTS)}.")
        if not 0 <= decision.row < n:
            raise InvalidInput(f"There is no training example {decision.row}; they are numbered 0 to {n - 1:,}.")
        if decision.label is not None:
            if decision.verdict != WRONG:
                raise InvalidInput("A right label goes with the verdict `wrong` alone; leave it out.")
            if not 0 <= decision.label < classes:
                raise InvalidInput(f"There is no class {decision.label}; use 0 to {classes - 1}.")
            if decision.label == self.data.evidence.y[decision.row]:
                raise InvalidInput("The right label is the given one; choose another, or call it fine.")
        if len(decision.note) > LONGEST_NOTE:
            raise InvalidInput(f"The note is longer than {LONGEST_NOTE:,} letters; shorten it.")
        return decision


def verified_by(data: NoisyData, decisions: Mapping[int, Decision]) -> dict[str, str]:
    """file -> the verified class of every example whose label somebody looked at and knows: an empty text where it is
    the given one. What `engine.data.upload_options.UploadOptions` takes as trusted."""
    files, names = data.dataset.files, data.dataset.class_names
    known = {decision.row: "" if decision.verdict == FINE else names[decision.label or 0]
             for decision in decisions.values()
             if decision.verdict == FINE or (decision.verdict == WRONG and decision.label is not None)}
    return {files[data.rows[row]]: name for row, name in known.items()}


def consequences(decisions: Mapping[int, Decision]) -> tuple[list[int], dict[int, int]]:
    """(rows to remove, rows to relabel with their label): wrong without and wrong with the right label."""
    wrong = [decision for decision in decisions.values() if decision.verdict == WRONG]
    return (sorted(decision.row for decision in wrong if decision.label is None),
            {decision.row: decision.label for decision in wrong if decision.label is not None})


def cleaned(data: NoisyData, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    """The training set after the review: `dataset_row`, the row in the dataset's training split, and its `label`."""
    removed, relabelled = consequences(decisions)
    labels, remaining = data.evidence.y.copy(), np.ones(len(data.evidence.y), dtype=bool)
    remaining[removed] = False
    for row, label in relabelled.items():
        labels[row] = label
    return pd.DataFrame({"dataset_row": data.rows[remaining], "label": labels[remaining]}).sort_values(
        "dataset_row", ignore_index=True)
