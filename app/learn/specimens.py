"""What several lessons show: the doubtful query, pictures of training examples, and how two rankings agree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from app.learn import lesson
from app.widgets import choice, glossary, pictures
from engine.metrics.agreement import kendall_tau
from engine.metrics.ranking import ranks
from engine.problems import DrawnProblem
from engine.scoring.scores import Scores


def doubtful(drawn: DrawnProblem, among: int = 0) -> int:
    """The query whose label the model is least sure of: its probability is nearest to one half; `among`: the next."""
    problem = drawn.problem
    own = problem.query_logits.softmax(-1)[range(len(problem.queries)), problem.query_labels]
    return int((own - 0.5).abs().argsort()[among])


def label(drawn: DrawnProblem, row: int) -> str:
    """The class of a training example."""
    return drawn.dataset.class_names[drawn.sample.y_train[row]]


def query_label(drawn: DrawnProblem, query: int) -> str:
    return drawn.dataset.class_names[drawn.sample.y_query[query]]


def query_picture(drawn: DrawnProblem, query: int, side: int = 72) -> str:
    return pictures.html(drawn.dataset, "test", int(drawn.sample.query_index[query]), side,
                         f"the query, a handwritten {query_label(drawn, query)}")


def picture(drawn: DrawnProblem, row: int, side: int = 56) -> str:
    return pictures.html(drawn.dataset, "train", int(drawn.sample.train_index[row]), side,
                         f"training example {row}, a handwritten {label(drawn, row)}")


def strip(drawn: DrawnProblem, query: int, rows: Sequence[int], marked: Collection[int], mark: str) -> None:
    """The query and a row of training examples, best first; the marked ones carry a word."""
    cells = [f'<figure class="wf-specimen">{query_picture(drawn, query, 64)}<figcaption>the query</figcaption></figure>'
             '<span class="wf-then" aria-hidden="true">→</span>']
    for place, row in enumerate(rows):
        word = f"<strong>{escape(mark)}</strong>" if row in marked else "&nbsp;"
        cells.append(f'<figure class="wf-specimen{" new" if row in marked else ""}">{picture(drawn, row)}'
                     f"<figcaption>{place + 1}. {word}</figcaption></figure>")
    glossary.html(f'<div class="wf-specimens">{"".join(cells)}</div>')


def mean_tau(a: Scores, b: Scores) -> float:
    """Kendall's τ, mean over queries, of candidates that both trust."""
    kept = a.converged & b.converged
    return float(np.nanmean(kendall_tau(a.oriented[:, kept], b.oriented[:, kept])))


def rank_frame(drawn: DrawnProblem, a: Scores, b: Scores, query: int) -> pd.DataFrame:
    """x, y: the ranks of each candidate for one query under both."""
    return frame(drawn, a.candidates, ranks(a.trusted[query]), ranks(b.trusted[query]))


def frame(drawn: DrawnProblem, candidates: np.ndarray, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"x": x, "y": y, "example": candidates, "label": [label(drawn, row) for row in candidates]})


def pick(name: str, prompt: str, options: Sequence, default, title=str, slider: bool = False):
    """The one control of a lesson, kept in the address."""
    key = choice.bound(name, default, choice.from_options(list(options)))
    if slider:
        value = st.select_slider(prompt, list(options), key=key, format_func=title, help=glossary.hint(prompt))
    else:
        value = st.segmented_control(prompt, list(options), key=key, format_func=title, required=True,
                                     help=glossary.hint(prompt))
    choice.keep(name, str(value))
    return value


def number(tau: float) -> str:
    """τ with two digits and a true minus sign."""
    return f"{tau:.2f}".replace("-", "−")


def address(**more) -> dict:
    return {**lesson.ADDRESS, **more}
