"""What people decided about suspicious labels, and what comes of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from engine.applications.decisions import FINE, UNSURE, WRONG, Decision, Decisions
from engine.applications.noisy_labels.decision_file import MOST_BYTES, columns_of, parse_decisions
from engine.applications.noisy_labels.source import NoisyData
from engine.basics.csv_text import csv_text
from engine.basics.errors import InvalidInput

VERDICTS = {WRONG: "wrong label", FINE: "fine", UNSURE: "unsure"}


class Review(Decisions):
    """The decisions about the labels of one dataset."""

    def __init__(self, data: NoisyData, root: Path | str | None = None, session: str = "") -> None:
        super().__init__(data.fingerprint, root, session)
        self.data = data

    def table(self) -> pd.DataFrame:
        """The decisions as they are exported, one row a decision (`engine.applications.noisy_labels.decision_file`)."""
        decisions = self.decisions()
        at = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(one.at)) for one in decisions.values()]
        return pd.DataFrame({"data": [self.data.fingerprint] * len(decisions),
                             **columns_of(self.data, list(decisions), decisions),
                             "note": [one.note for one in decisions.values()], "decided_at": at})

    def to_csv(self) -> str:
        """The decisions as CSV; texts that a spreadsheet would take for a formula are quoted with an apostrophe."""
        return csv_text(self.table())

    def import_csv(self, content: bytes) -> int:
        """Add the decisions of an exported file; how many. All of them or none.

        Raises `InvalidInput` for another file, and for a review of another dataset.
        """
        if len(content) > MOST_BYTES:
            raise InvalidInput(f"The review file is larger than {MOST_BYTES // 1_000_000} MB; give an exported one.")
        return self.add(parse_decisions(content, "The review file").decisions(self.data))

    def _check(self, decision: Decision) -> None:
        classes, n = self.data.evidence.classes, len(self.data.evidence.y)
        if not 0 <= decision.row < n:
            raise InvalidInput(f"There is no training example {decision.row}; they are numbered 0 to {n - 1:,}.")
        if decision.label is not None:
            if decision.verdict != WRONG:
                raise InvalidInput("Only the verdict `wrong` takes a right label; leave the label out.")
            if not 0 <= decision.label < classes:
                raise InvalidInput(f"There is no class {decision.label}; use 0 to {classes - 1}.")
            if decision.label == self.data.evidence.y[decision.row]:
                raise InvalidInput("The right label equals the given one; choose another, or mark it as fine.")
        if decision.text:
            raise InvalidInput("A label must be a class, not a text; give the right class.")


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
