"""What several lessons show: pictures of training examples, tables for their charts, and addresses of other pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import pandas as pd

from app.learn import lesson
from app.widgets.examples import pictures
from app.widgets.frame import projector
from app.widgets.words import glossary
from engine.desk import DrawnProblem
from engine.metrics.ranking import ranks
from engine.scoring.scores import Scores


def label(drawn: DrawnProblem, row: int) -> str:
    """The class of a training example."""
    return drawn.dataset.class_names[drawn.sample.y_train[row]]


def query_label(drawn: DrawnProblem, query: int) -> str:
    return drawn.dataset.class_names[drawn.sample.y_query[query]]


def query_picture(drawn: DrawnProblem, query: int, side: int = 72) -> str:
    return pictures.html(drawn.dataset, "test", int(drawn.sample.query_index[query]), _seen(side),
                         f"the query, {drawn.dataset.noun} {query_label(drawn, query)}")


def picture(drawn: DrawnProblem, row: int, side: int = 56) -> str:
    return pictures.html(drawn.dataset, "train", int(drawn.sample.train_index[row]), _seen(side),
                         f"training example {row}, {drawn.dataset.noun} {label(drawn, row)}")


def _seen(side: int) -> int:
    """Pixels of a picture: twice as many before a class."""
    return 2 * side if projector.on() else side


def strip(drawn: DrawnProblem, query: int, rows: Sequence[int], marked: Collection[int], mark: str) -> None:
    """The query and a row of training examples, best first; the marked ones carry a word."""
    cells = [f'<figure class="wf-specimen">{query_picture(drawn, query, 64)}<figcaption>the query</figcaption></figure>'
             '<span class="wf-then" aria-hidden="true">→</span>']
    for place, row in enumerate(rows):
        word = f"<strong>{escape(mark)}</strong>" if row in marked else "&nbsp;"
        cells.append(f'<figure class="wf-specimen{" new" if row in marked else ""}">{picture(drawn, row)}'
                     f"<figcaption>{place + 1}. {word}</figcaption></figure>")
    glossary.html(f'<div class="wf-specimens">{"".join(cells)}</div>')


def rank_frame(drawn: DrawnProblem, a: Scores, b: Scores, query: int) -> pd.DataFrame:
    """x, y: the ranks of each candidate for one query under both."""
    return frame(drawn, a.candidates, ranks(a.trusted[query]), ranks(b.trusted[query]))


def frame(drawn: DrawnProblem, candidates: np.ndarray, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"x": x, "y": y, "example": candidates, "label": [label(drawn, row) for row in candidates]})


def number(tau: float) -> str:
    """τ with two digits and a true minus sign."""
    return f"{tau:.2f}".replace("-", "−")


def address(**more) -> dict:
    """The address parameters under which another page shows the problem of the lessons, and what else is chosen."""
    return {**lesson.ADDRESS, **more}
