"""One query, two exact answers: the live figure of the home page, on the pictures that need no download."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from app.widgets.examples import pictures
from app.widgets.jobs.desk import desk
from app.widgets.results import two_rankings
from app.widgets.words import chips, glossary
from engine.desk import ProblemSource, Waiting, datasets, fitting, presets
from engine.desk.analyses import compare
from engine.desk.datasets import Dataset
from engine.metrics.in_words import in_words
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import Verdict

SIDE = 104
TRIES = 3
"""How often a task waits a moment for the model."""


@dataclass(frozen=True)
class TopExample:
    """The example that supports the query most under a scoring, and the rank it has under the other one."""

    scoring: Scoring
    row: int
    label: str
    rank_there: int


@dataclass(frozen=True)
class OpposedPair:
    """Two answers for one query, which is the one where each finds the other's best example worst."""

    query_row: int
    query_label: str
    answers: tuple[TopExample, TopExample]
    words: str
    queries: int
    candidates: int
    verdict: Verdict


def source() -> ProblemSource:
    """What the Compare page starts with too, so that the model is trained once."""
    train, queries = fitting.DEFAULT_SIZES[datasets.FIRST]
    return ProblemSource(dataset=datasets.FIRST, n_train=train, n_queries=queries, n_test=500,
                         pool=fitting.POOL[datasets.FIRST])


def first_look() -> OpposedPair | Waiting:
    preset = presets.preset("first", source().problem_class)
    pair = tuple(preset.scorings[index] for index in preset.pair)
    scores = desk().scores(source(), pair, source().n_train)
    if isinstance(scores, Waiting):
        return scores
    return _first_look(source().key, tuple(scoring.digest for scoring in pair), scores)


def ahead() -> list[Callable[[], object]]:
    """The model of all pages and this look, as tasks of a moment each; none where the server was started on other
    data."""
    if fitting.first_data() != source().dataset:
        return []
    return [*[partial(desk().sampled, source())] * TRIES, first_look]


@st.cache_resource(show_spinner=False, max_entries=2)
def _first_look(key: str, digests: tuple[str, ...], _scores: Sequence[Scores]) -> OpposedPair:
    dataset, sample = desk().sample(source())
    names = dataset.class_names
    ranks = two_rankings.ranks(np.stack([scores.oriented for scores in _scores]))
    best = ranks.argmin(-1)
    there = np.stack([np.take_along_axis(ranks[1 - side], best[side][:, None], -1)[:, 0] for side in (0, 1)])
    query = int(there.min(0).argmax())
    rows = [int(_scores[0].candidates[best[side, query]]) for side in (0, 1)]
    first, second = (TopExample(_scores[side].scoring, int(sample.train_index[rows[side]]),
                               names[sample.y_train[rows[side]]], int(there[side, query])) for side in (0, 1))
    comparison = compare([_scores], problem=source().problem_class)
    tau, overlap = (comparison.agreement(name, 0, 1) for name in ("kendall_tau", "top_overlap"))
    return OpposedPair(int(sample.query_index[query]), names[sample.y_query[query]], (first, second),
                       in_words(tau, overlap, len(_scores[0].candidates)).sentence, tau.n_queries,
                       len(_scores[0].candidates), comparison.verdicts[0][1])


def show(look: OpposedPair) -> None:
    """The query, the two answers beside each other, and why they differ."""
    dataset = desk().sample(source())[0]
    first, second = look.answers
    query = _card("The query", f"{dataset.noun} “{look.query_label}”", dataset, "test", look.query_row, "",
                  f"Which of {look.candidates:,} training examples helped the model's prediction most?")
    cards = [_card(title, f"{dataset.noun} “{answer.label}”", dataset, "train", answer.row,
                   chips.html(answer.scoring, other.scoring), answer.scoring.question,
                   f"Rank 1 of {look.candidates:,} here, rank {answer.rank_there:,} in the "
                   "other answer.")
             for title, answer, other in (("One answer", first, second), ("Another answer", second, first))]
    st.html(glossary.explained_html(f'<div class="wf-cards">{query}{"".join(cards)}</div>'))  # drawn after what follows
    chips.verdict_badge(look.verdict)
    chips.note(f"Both are exact. Their rankings over all {look.queries} queries: {look.words} Kendall's τ is 1 for "
               "the same order and −1 for the reversed one; ± is a 95% interval over queries. This query is the one "
               "where they disagree most about the best example.")


def _card(title: str, what: str, dataset: Dataset, split: str, row: int, chip_row: str, text: str,
          finding: str = "") -> str:
    picture = pictures.html(dataset, split, row, SIDE, f"{title}: {what}")
    strong = f'<p class="wf-num"><strong>{escape(finding)}</strong></p>' if finding else ""
    return (f'<div class="wf-card"><div class="wf-card-title">{escape(title)}: {escape(what)}</div>{picture}{strong}'
            f"{chip_row}<p>{escape(text)}</p></div>")
