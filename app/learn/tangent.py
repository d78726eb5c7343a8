"""Lesson 6: the first-order answer follows the tangent where the exact one follows the curve."""

import numpy as np
import streamlit as st

from app.charts import lesson as charts
from app.charts.draw import draw
from app.learn import own, specimens, state
from app.learn.lesson import Lesson, PageLink, Quiz, extras, formula, problem, scores
from app.widgets.examples import cards
from app.widgets.words import glossary
from engine.basics.values import short, signed
from engine.desk import SampledProblem
from engine.desk.analyses import along_eta, comparing, gaps, most_curved
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.scoring.scoring import Scoring

START, LONGEST, POINTS = 0.1, 1.0, 101


def setup() -> None:
    sample = problem()
    query, row = _most_curved(sample)
    frame = along_eta(sample.problem, query, row, np.linspace(0, START, POINTS))
    unit = direction.change(BEHAVIORS["query_loss"])
    draw(charts.tangent, frame, START, unit, "eta", "step size η", LONGEST, key="learn:tangent:setup",
         alt=f"The {unit} up to η = {START:g}: the exact curve and its tangent, on an axis up to {LONGEST:g}.")


def show() -> PageLink:
    eta = state.eta(START, LONGEST)
    sample = problem()
    query, row = _most_curved(sample)
    frame = along_eta(sample.problem, query, row, np.linspace(0, LONGEST, POINTS))
    read = BEHAVIORS["query_loss"]
    unit = direction.change(read)
    draw(charts.tangent, frame, eta, unit, "eta", "step size η", LONGEST, key="learn:tangent",
         alt=f"The {unit} against the step size: the exact curve and its tangent, with their gap at the chosen η.",
         caption=f"The {unit} against the step size: the exact curve and its tangent, with their gap at η = {eta:g}.")
    at = frame.iloc[(frame.eta - eta).abs().argmin()]
    before = float(np.log(comparing.probability(sample.problem, query)))
    first = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta}, "first_order")
    exact, approximate = scores(comparing.step("query_loss", eta), first, candidates=own.TRAIN)
    here, mean = (_growth(sample, *pair) for pair in ((query, row), (None, None)))
    text = (
        f"One step of size η = {eta:g} on one training example, seen at one query, "
        f"{direction.changed(read, float(at.curve), f'**{cards.number(at.curve)}**', before)}; the tangent gives "
        f"**{cards.number(at.tangent)}**, a gap of {abs(at.curve - at.tangent):.3g}. Of "
        f"all pairs this is the one with the largest gap at η = {LONGEST:g}; the mean gap is "
        f"{float(gaps(sample.problem, eta).mean()):.2g}. From η = {START:g} to {LONGEST:g} the gap grows "
        f"**{here:.0f}**-fold here, and the mean gap **{mean:.0f}**-fold. Over all queries and examples the rankings "
        f"agree with Kendall's τ = **{signed(comparing.mean_tau(exact, approximate), 2)}**.")
    formula("B(q; θ − [T η] [P ∇ℓ_k]) − B(q; θ)  ≈  −[T η] [B ∇B(q)]ᵀ [P ∇ℓ_k]")
    glossary.markdown(text)
    extras("tangent", frame, [comparing.step("query_loss", eta), first], own.source(), quantity=unit)
    return PageLink("approximation_error", "Drag η on all queries", specimens.address(panel="eta", eta=short(eta)))


def _growth(sample: SampledProblem, query: int | None, row: int | None) -> float:
    """How many times as large the gap at LONGEST is as at START: of one pair, or the mean over all."""
    if query is None or row is None:
        return float(gaps(sample.problem, LONGEST).mean() / gaps(sample.problem, START).mean())
    near, far = along_eta(sample.problem, query, row, np.array([START, LONGEST])).itertuples(index=False)
    return abs(far.curve - far.tangent) / abs(near.curve - near.tangent)


@st.cache_data(show_spinner=False)
def _most_curved(_sample: SampledProblem) -> tuple[int, int]:
    return most_curved(_sample.problem, LONGEST)


LESSON = Lesson(
    "tangent", "Linearisation and its error",
    "Gradient-based scores replace the curve by its tangent at the trained model: first order. The question stays the "
    "same, so the gap between curve and tangent is approximation error.",
    setup, show,
    "Close to the trained model the tangent and the curve coincide; the larger the step, the larger the approximation "
    "error.",
    Quiz("For the query logit of softmax regression, how far apart are curve and tangent?",
         ("As far as here", "Not at all"), 1,
         "The logit is linear in the parameters, and one step moves them along a line, so tangent and curve coincide."),
    Quiz("At η = 0.1 curve and tangent differ. How much larger is the gap at η = 1, ten times the step?",
         ("As large", "Ten times", "More than ten times"), 2,
         "A first-order answer errs by the square of a small step, for which ten times the step is a hundred times "
         "the gap. These steps are not small: the curve flattens, and the gap grows less, as the numbers next to the "
         "plot show."),
    (own.DATA,), ("eta",), height=530)
