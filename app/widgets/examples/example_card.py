"""One training example as a card: what it is, what the model says of it, its rank and score under every specification,
and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import streamlit as st

from app.widgets.examples import cards, decompositions, drawn_examples, predictions
from app.widgets.examples.drawn_examples import Query
from app.widgets.words import chips, glossary
from engine.desk import DrawnProblem
from engine.metrics.ranking import ranks
from engine.question import direction
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

ORIENTED = ("Scores are oriented: positive means that the example supports the behavior, whatever the intervention; "
            "their sizes can be compared within a row's own specification only.")


def show(drawn: DrawnProblem, row: int, found: Sequence[Scores], query: Query | None) -> None:
    """The card of a candidate; without scores, of any training example. query: None for all of them together, whose
    mean scores rank then."""
    label, noun, scorings = drawn_examples.label(drawn, row), drawn_examples.noun(drawn), [one.scoring for one in found]
    said = predictions.of_training(drawn, [row])[0]
    left, right = st.columns(2)
    with left:
        st.html(f'<div class="wf-chosen">{drawn_examples.train_html(drawn, row, 144, shown=20)}</div>')
        st.html(cards.facts([
            ("training example", f"{row} (row {int(drawn.sample.train_index[row]):,} of the dataset)"),
            (noun, label),
            *_known(drawn, row), ("the model says", said.told), (said.measure, said.number)]))
    if query is not None:
        with right:
            st.html(f'<div class="wf-chosen">{drawn_examples.query_html(drawn, query, 144, scorings)}</div>')
            st.html(cards.facts([("query", str(query.place)), (noun, query.label),
                                 ("the model says", query.predicted),
                                 (query.prediction.measure, query.prediction.number)]))
    if not found:
        return
    varying = chips.differing(scorings) if len(scorings) > 1 else None
    place = None if query is None else query.place
    st.html(cards.detail_rows([(_asked(scoring, varying), scoring.route.implies, *numbers)
                               for scoring, numbers in zip(scorings, details(found, place, row), strict=True)]))
    if query is None:
        glossary.caption(f"Ranks of the mean score over all {len(drawn.problem.queries):,} queries. {ORIENTED} Choose "
                         "one query to see why a score is what it is.")
        return
    glossary.caption(f"Rank 1 supports the behavior at this query most. {ORIENTED}")
    decompositions.panel(drawn, found, query.place, row)


def _asked(scoring: Scoring, varying: Collection[str] | None) -> str:
    """The chips of a scoring, and what its score is."""
    told = f'<div class="wf-known">{escape(direction.scored(scoring))}</div>' if scoring.route.implies else ""
    return f"{chips.marked(scoring, varying)}{told}"


def details(found: Sequence[Scores], query: int | None, row: int) -> list[tuple[int, int, float]]:
    """(rank, of how many, oriented score) of one training example under each specification. query: None for the mean
    score over all queries, in which a score without a value counts as none."""
    position = int(np.flatnonzero(found[0].candidates == row)[0])
    listed = []
    for scores in found:
        values = scores.trusted[query] if query is not None else np.where(
            scores.converged, np.nan_to_num(scores.scored).mean(0), np.nan)
        ranking = ranks(values)
        listed.append((int(ranking[position]), int((ranking > 0).sum()), float(values[position])))
    return listed


def _known(drawn: DrawnProblem, row: int) -> list[tuple[str, str]]:
    """What is known to have been done to a text; nothing of it is seen by any model or score."""
    record = drawn.dataset.record("train", int(drawn.sample.train_index[row]))
    return [("known as", ", ".join(record.flags))] if record is not None and record.flags else []
