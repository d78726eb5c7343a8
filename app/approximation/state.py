"""What is chosen on the approximation-error page: panel, measure, behavior, draws, point; kept in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.approximation import behavior
from app.widgets.choices import choice, inputs
from app.widgets.choices.selectors import number, pick, segments, toggle
from app.widgets.pickers import pickers
from app.widgets.words import glossary
from engine.basics.values import short
from engine.desk import Problem, ProblemSource, fitting, published
from engine.desk import error_curves as desk_curves
from engine.desk.analyses import ALPHAS, ETAS, curve_questions
from engine.desk.published import EXPERIMENTS
from engine.metrics.agreement import METRICS
from engine.scoring import controlled
from engine.scoring.scoring import ESTIMATORS, Scoring

PANELS = {"eta": "Longer steps (η)", "alpha": "Heavier weights (α)", "run": "Through the training (ε)"}
SHORTS = {metric.short: name for name, metric in METRICS.items()}
DRAWS = (1, 2, 3, 5)
ALPHA_STEPS = tuple(float(f"{10 ** (index / 8 - 5):.2g}") for index in range(33))
ETA_STEPS = tuple(sorted({*ETAS, *(float(f"{10 ** (index / 32 - 2):.2g}") for index in range(65))}))


@dataclass(frozen=True)
class CurveChoice:
    """Everything chosen on the page. value: η or α; candidates: None for all of them."""

    panel: str
    sources: tuple[ProblemSource, ...]
    metric: str
    behavior: str
    value: float
    query: int
    candidates: int | None
    solver: str
    published: bool

    @property
    def stops(self) -> tuple[float, ...]:
        """Where the slider on the curves stops: close together, or at the computed points alone where no other point
        could be asked for."""
        if not desk_curves.live(self.sources[0]):
            return ETAS if self.panel == "eta" else ALPHAS
        return ETA_STEPS if self.panel == "eta" else ALPHA_STEPS

    @property
    def symbol(self) -> str:
        return "η" if self.panel == "eta" else "α"

    @property
    def scored(self) -> tuple[ProblemSource, ...]:
        """The draws with exactly the candidates that are scored."""
        return tuple(source.model_copy(update={"n_candidates": self.candidates}) for source in self.sources)


def panel_choice() -> str:
    return segments("panel", "Varied quantity", list(PANELS), "eta", PANELS.get, label_visibility="collapsed")


def controls(panel: str) -> CurveChoice | None:
    """The row of choices, each of them in the address; None until the behavior is complete."""
    row, below = (st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="wf-error-asked"),
                  st.container())
    metric = segments("metric", "Agreement", list(SHORTS), "kendall", lambda name: METRICS[SHORTS[name]].title,
                      area=row,
                      help=" ".join(f"**{metric.title}**: {metric.definition}" for metric in METRICS.values()))
    chosen_behavior = behavior.chosen(row, below)
    solvers = curve_questions.solvers(pickers.problem_class().kind)
    solver = next(iter(solvers))
    if panel == "alpha":
        solver = pick("solver", "Solver in the scatter plot", list(solvers), solver, lambda name: solvers[name].title,
                      area=row, width=200,
                      help="How (H + damping)⁻¹ is applied. Cholesky solves exactly; the others approximate it.")
    draws = pick("draws", "Seeds", DRAWS, _default_draws(), str, area=row, width=90,
                 help="Each seed samples different queries and candidates, and a different training set if it is "
                      "smaller than the dataset. Bands are 95% t-intervals over seeds.")
    sources = tuple(pickers.source(offset) for offset in range(draws))
    value = _value(panel, desk_curves.live(sources[0]), row)
    figure = published_run(pickers.problem_class(), pickers.source(0).dataset)
    shown = figure is not None and _toggle(row, figure)
    limit = sources[0].n_candidates or sources[0].n_train or pickers.optima_candidates()
    candidates = min(pickers.optima_candidates(), limit) if panel == "alpha" else (
        None if desk_curves.live(sources[0]) else limit)
    if chosen_behavior is None:
        return None
    return CurveChoice(panel, sources, SHORTS[metric], chosen_behavior, value, _query(sources[0]), candidates, solver,
                       shown)


def _default_draws() -> int:
    digits = choice.one("data", fitting.first_data(), str) == "digits"
    return 3 if digits and pickers.problem_class().convex else 1


def published_run(model: type[Problem], dataset: str) -> tuple[str, str] | None:
    """(figure, preset) of the largest published run of the curves of this class of problems on this dataset; None where
    there is none: a curve of other data answers another question."""
    if model.reads != "classes":
        return None
    figure = "figure-4" if model.convex else "figure-a2"
    for preset in ("paper", "small"):
        table = published.results(figure, preset)
        if table is not None and (table["dataset"] == dataset).any():
            return figure, preset
    return None


def _toggle(row: DeltaGenerator, figure: tuple[str, str]) -> bool:
    name, preset = figure
    return toggle("published", "Published paper-scale run" if preset == "paper" else "Published run, small scale", row,
                  help=f"{EXPERIMENTS[name].presets[preset].title}, as published with this program: hollow diamonds.")


def _value(panel: str, live: bool, row: DeltaGenerator) -> float:
    """The value in a box: the twin of the slider on the curves, for keys and programs. Between its computed points a
    network would have to be computed anew."""
    if panel == "eta" and live:
        return number("eta", "Step size η", 0.1, 0.01, 1.0, short, row, step=0.01, format="%.4g", width=130,
                      help=glossary.hint("Step size", "The same as the slider below the curves; the exact scores at "
                                                      "this η are computed now."))
    label, points, start = (("Step size η", ETAS, 0.1) if panel == "eta" else
                            ("Weight α", ALPHA_STEPS if live else ALPHAS, 1e-3))
    key = choice.bound(panel, start, partial(_nearest, points))
    value = inputs.selectbox(label, points, key=key, format_func=short, area=row, width=130, help=glossary.hint(
        label, "The same as the slider below the curves; every candidate is computed now at this α." if live else
        "One of the computed points of the curves, as the slider below them."))
    choice.keep(panel, short(value))
    return value


def removals(chosen: CurveChoice) -> list[Scoring]:
    """Removal, answered by TRAK, which has nothing to say of upweighting; where the model has its features."""
    model = chosen.sources[0].problem_class
    return [controlled.damped_removal(chosen.behavior, name) for name in ("trak",) if ESTIMATORS[name].offered(
        model, "local_search")]


def slid(panel: str, value: float) -> None:
    """The reader has moved the slider on the curves."""
    choice.keep(panel, short(value))
    st.session_state[choice.widget(panel)] = value


def _nearest(points: Sequence[float], text: str) -> float:
    wanted = choice.within(points[0], points[-1], float)(text)
    return min(points, key=lambda point: abs(point - wanted) / point)


def _query(source: ProblemSource) -> int:
    """The query of the scatter; its box stands beside the scatter, where it is read."""
    return choice.one("query", 0, choice.within(0, (source.n_queries or 1) - 1))
