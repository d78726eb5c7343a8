"""What a careful reader of the paper's tables must know, said beside the cells that it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from engine.desk.published import STORED

CONTROLLED = ("table-a6", "figure-4")


@dataclass(frozen=True)
class Note:
    """`text` belongs to the rows of `experiments` whose columns hold the words of `where`."""

    experiments: tuple[str, ...]
    where: Mapping[str, str]
    text: str

    def concerns(self, experiment: str, row: Mapping[str, object]) -> bool:
        return experiment in self.experiments and all(
            words in str(row.get(column, "")).lower() for column, words in self.where.items())


NOTES = (
    Note(CONTROLLED, {"axis": "b", "comparison": "soft margin"},
         "Proposition 1 of the paper needs an increasing map from one behavior to the other. The soft margin falls as "
         "the cross-entropy rises, so the proposition holds for minus the cross-entropy, which “query loss” denotes "
         "here: larger is better, as for every behavior."),
    Note(CONTROLLED, {"axis": "p", "metric": "sign"},
         "After a removal the mean runs over the n−1 examples left. This adds the same term, −λθ/(n−1), to the "
         "gradient of every candidate, and scores near zero change sign. For this reason signs agree for fewer than "
         "eight candidates in ten even at the smallest α, where τ is 0.98."),
    Note(CONTROLLED, {"axis": "p"},
         "The table has five values of α; the paper's configuration (Table A-1) lists two of them, 0.001 and 0.1. "
         "We run all five."),
    Note(CONTROLLED, {"axis": "t", "comparison": "inverse-hessian"},
         "This inverse Hessian is damped by 0.01, a hundred times the model's own regularisation λ = 1e-4. It is the "
         "response of a damped objective rather than the infinitesimal one, so damping is part of the specification "
         "here and is shown."),
    Note(CONTROLLED, {"axis": "t"},
         "The authors' code computes τ, overlap and sign agreement of these rows once over all pairs of query and "
         "candidate; the text computes them per query. Following the paper's text, ours are per query."),
    Note(("table-a7", "figure-a1"), {"parameter": "alpha=0.00001"},
         "The paper leaves this α out; the value is from its authors' files."),
    Note(("table-5-2",), {"metric": "bt-fpr"},
         "The paper does not state the cutoff at which a record counts as detected. All its values equal the "
         "fraction of benign "
         "triggers among the top 500, so ours is taken at the top 10%."),
    Note(("table-a14",), {"method": "less", "behavior": "response loss"},
         "The paper's attack rate falls to 0.62 ± 0.29 here although only 0.11 of the poison was removed: one seed "
         "seems to differ, so our table lists every seed."),
    Note(("table-a17",), {"method": "+ train"},
         "0.052 is the smallest average precision that 500 of 5,000 records can have: a reversed ranking, that is, "
         "the opposite sign. Ours is also published with the sign flipped."),
    Note(("table-a17",), {"method": "+ behavior"},
         "In the paper these rows equal those of “+ train” in all cells: its authors' code takes the gradient of the "
         "behavior for both signals, and “+ both” with the opposite sign. Following the paper's text, here a signal "
         "without its counterpart enters as its norm."),
)

SPREAD = ("According to the authors' files, the paper's ± is the standard deviation over its 3 training seeds; for τ "
          "the text calls the same numbers a 95% interval.")
"""What the paper's ± is."""


def on_origin(rows: pd.DataFrame) -> str:
    """Where the paper's values come from, where it prints none of them."""
    if "origin" in rows and (rows["origin"] == STORED).all():
        return "The paper prints no numbers for this; those shown next to ours are from its authors' files."
    return ""


def of_rows(experiment: str, rows: Iterable[Mapping[str, object]]) -> tuple[list[str], list[list[int]]]:
    """The notes that concern any row, in order, and for each row the numbers (from 1) of its notes."""
    rows = list(rows)
    texts: list[str] = []
    for note in NOTES:
        if note.text not in texts and any(note.concerns(experiment, row) for row in rows):
            texts.append(note.text)
    numbers = [[number for number, text in enumerate(texts, 1)
                if any(note.text == text and note.concerns(experiment, row) for note in NOTES)] for row in rows]
    return texts, numbers
