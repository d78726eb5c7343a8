"""What several lessons show: pictures of training examples, tables for their charts, and addresses of other pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import pandas as pd

from app.learn import own
from app.widgets.examples import pictures
from app.widgets.examples.sampled_examples import label
from app.widgets.frame import projector
from app.widgets.words import glossary
from engine.desk import SampledProblem
from engine.metrics.ranking import ranks, top
from engine.scoring.scores import Scores

CANDIDATES = 80
"""How many examples are re-optimised."""


def query_picture(sampled: SampledProblem, query: int, side: int = 72) -> str:
    return pictures.html(sampled.dataset, "test", int(sampled.sample.query_index[query]), _seen(side),
                         f"the query, {sampled.dataset.noun} "
                         f"{sampled.dataset.class_names[sampled.sample.y_query[query]]}")


def picture(sampled: SampledProblem, row: int, side: int = 56) -> str:
    return pictures.html(sampled.dataset, "train", int(sampled.sample.train_index[row]), _seen(side),
                         f"training example {row}, {sampled.dataset.noun} {label(sampled, row)}")


def _seen(side: int) -> int:
    """Pixels of a picture: more before a class, by the size of its screen."""
    return round(1.75 * side * projector.scale()) if projector.on() else side


def strip(sampled: SampledProblem, query: int, rows: Sequence[int], marked: Collection[int], mark: str) -> None:
    """The query and a row of training examples, best first; the marked ones carry a word."""
    cells = [f'<figure class="wf-specimen">{query_picture(sampled, query, 64)}<figcaption>the '
             f'query</figcaption></figure>']
    if rows:
        cells.append('<span class="wf-then" aria-hidden="true">→</span>')
    for index, row in enumerate(rows):
        word = f"<strong>{escape(mark)}</strong>" if row in marked else "&nbsp;"
        cells.append(f'<figure class="wf-specimen{" new" if row in marked else ""}">{picture(sampled, row)}'
                     f"<figcaption>{index + 1}. {word}</figcaption></figure>")
    glossary.html(f'<div class="wf-specimens">{"".join(cells)}</div>')


def first(scored: Scores, query: int, count: int) -> list[int]:
    """The training examples that raise the behavior of a query most."""
    return [int(scored.candidates[position]) for position in top(ranks(scored.trusted[query]), count)]


def rank_frame(sampled: SampledProblem, a: Scores, b: Scores, query: int) -> pd.DataFrame:
    """x, y: the ranks of each candidate for one query under both."""
    return frame(sampled, a.candidates, ranks(a.trusted[query]), ranks(b.trusted[query]))


def frame(sampled: SampledProblem, candidates: np.ndarray, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"x": x, "y": y, "example": candidates, "label": [label(sampled, row) for row in candidates]})


def address(**more: str | list[str]) -> dict[str, str | list[str]]:
    """The address parameters under which another page shows the problem of the lessons, and what else is chosen."""
    source = own.source()
    return {"data": source.dataset, "train": str(source.n_train), "queries": str(source.n_queries),
            "candidates": str(min(CANDIDATES, source.n_train or CANDIDATES)), "seed": "0", "nseeds": "1", **more}
