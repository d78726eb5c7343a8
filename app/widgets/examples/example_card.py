"""One training example as a card: what it is, what the model says of it, its rank and score under every specification,
and why."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import streamlit as st

from app.widgets.examples import cards, decompositions, predictions, sampled_examples
from app.widgets.examples.sampled_examples import Query
from app.widgets.words import chips, glossary
from engine.desk import SampledProblem
from engine.metrics.ranking import ranks
from engine.question import direction
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

ORIENTED = ("Scores are oriented: positive means that the example supports the behavior, whatever the intervention; "
            "sizes are comparable only within one specification.")


def show(sampled: SampledProblem, row: int, scored: Sequence[Scores], query: Query | None) -> None:
    """The card of a candidate; without scores, of any training example. query: None for all of them together, whose
    mean scores rank then."""
    label, noun, scorings = sampled_examples.label(sampled,
                                                 row), sampled_examples.noun(sampled), [one.scoring for one in scored]
    said = predictions.of_training(sampled, [row])[0]
    left, right = st.columns(2)
    with left:
        st.html(f'<div class="wf-chosen">{sampled_examples.train_html(sampled, row, 144, shown=20)}</div>')
        st.html(cards.facts([
            _which(sampled, row),
            (noun, label),
            *_known(sampled, row), *_predicted(said.sentence), (said.measure, said.number)]))
    if query is not None:
        with right:
            st.html(f'<div class="wf-chosen">{sampled_examples.query_html(sampled, query, 144, scorings)}</div>')
            st.html(cards.facts([("query", str(query.index)), (noun, query.label),
                                 *_predicted(query.predicted),
                                 (query.prediction.measure, query.prediction.number)]))
    if not scored:
        return
    varying = chips.differing(scorings) if len(scorings) > 1 else None
    index = None if query is None else query.index
    st.html(cards.detail_rows([(_question(scoring, varying), scoring.route.implies, *numbers)
                               for scoring, numbers in zip(scorings, details(scored, index, row), strict=True)]))
    if query is None:
        glossary.caption(f"Ranks of the mean score over all {len(sampled.problem.queries):,} queries. {ORIENTED} "
                         f"Choose one query to see how a score factorises.")
        return
    glossary.caption(f"Rank 1 supports the behavior at this query most. {ORIENTED}")
    decompositions.panel(sampled, scored, query.index, row)


def _question(scoring: Scoring, varying: Collection[str] | None) -> str:
    """The chips of a scoring, and what its score is."""
    meaning = f'<div class="wf-known">{escape(direction.scored(scoring))}</div>' if scoring.route.implies else ""
    return f"{chips.marked(scoring, varying)}{meaning}"


def details(scored: Sequence[Scores], query: int | None, row: int) -> list[tuple[int, int, float]]:
    """(rank, of how many, oriented score) of one training example under each specification. query: None for the mean
    score over all queries, in which a score without a value counts as none."""
    position = int(np.flatnonzero(scored[0].candidates == row)[0])
    listed = []
    for scores in scored:
        values = scores.trusted[query] if query is not None else np.where(
            scores.converged, np.nan_to_num(scores.scored).mean(0), np.nan)
        ranking = ranks(values)
        listed.append((int(ranking[position]), int((ranking > 0).sum()), float(values[position])))
    return listed


def _which(sampled: SampledProblem, row: int) -> tuple[str, str]:
    sample = sampled.sample
    if row >= sample.n:
        return "new candidate", f"{sample.new[row - sample.n]} (outside the training data)"
    return "training example", f"{row} (row {int(sample.train_index[row]):,} of the dataset)"


def _known(sampled: SampledProblem, row: int) -> list[tuple[str, str]]:
    """What is known to have been done to a text; nothing of it is seen by any model or score."""
    record = sampled.dataset.record("train", int(sampled.sample.train_index[row]))
    return [("known as", ", ".join(record.flags))] if record is not None and record.flags else []


def _predicted(said: str) -> list[tuple[str, str]]:
    """What the model says, where it says anything of such an example."""
    return [("predicted", said)] if said else []
