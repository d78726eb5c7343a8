"""Approximation error: one question, answered exactly and by its tangent, along the step size η, the weight α and the
change ε of a weight in a whole training."""

from collections.abc import Callable
from typing import NoReturn

import streamlit as st

from app.approximation import data as tables
from app.approximation import panel as error_panel
from app.approximation import path_integral as path_panel
from app.approximation import state, surface, sweep, training_run
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import example, pickers
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from engine.basics.values import short
from engine.desk import Waiting, error_curves


def main() -> None:
    st.title("Approximation error", help=glossary.hint("Approximation error"))
    glossary.lead("Same question: the distance of an approximation from the exact answer as the step grows.",
                  "wf-error-lead")
    with st.container(key="wf-same-question"):
        glossary.caption(
            "An approximation linearises the response at the trained model; the exact answer does not. Both sides "
            "share behavior, intervention and training process, so all disagreement on this page is approximation "
            "error, not a different question.")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        panel = state.panel_choice()
        source = pickers.source()
        example.mark(source.dataset, error_curves.example(desk(), source) if panel == "eta" else None)
    if panel == "run":
        training_run.panel()
    elif (chosen := state.controls(panel)) is not None:
        (_eta if panel == "eta" else _alpha)(chosen)


def _eta(chosen: state.CurveChoice) -> None:
    source = chosen.sources[0]
    point = error_curves.eta_point(desk(), source, chosen.behavior, chosen.value, chosen.candidates)
    if isinstance(point, Waiting):
        _wait(point, chosen, error_panel.eta_curves)
    agreements = error_curves.step_numbers(desk(), source, chosen.value, chosen.candidates, chosen.behavior)
    if isinstance(agreements, Waiting):
        _wait(agreements, chosen, error_panel.eta_curves)
    left, right = st.columns([3, 2], gap="large")
    with left:
        error_panel.eta_curves(chosen, agreements)
    with right:
        error_panel.scatter(point, chosen)
    error_panel.note(chosen)
    surface.show(chosen)
    _point(point, chosen)
    error_panel.numbers_table(tables.titled(agreements), "behavior", chosen)


def _alpha(chosen: state.CurveChoice) -> None:
    source = chosen.sources[0]
    point = error_curves.alpha_point(desk(), source, chosen.behavior, chosen.value, chosen.solver, chosen.candidates)
    if isinstance(point, Waiting):
        _wait(point, chosen, error_panel.alpha_curves)
    points = error_curves.alpha_points(desk(), source, chosen.behavior, chosen.value, chosen.candidates, chosen.solver)
    left, right = st.columns([3, 2], gap="large")
    with left:
        error_panel.alpha_curves(chosen, points)
    with right:
        error_panel.scatter(point, chosen)
    error_panel.note(chosen)
    surface.show(chosen)
    sweep.show(source, chosen.metric, chosen.candidates, [point.approximate.scoring, *state.removals(chosen)])
    _point(point, chosen)
    error_panel.numbers_table({title: at.agreement for title, at in tables.by_title(points).items()}, "solver", chosen)
    error_panel.residual_table(points)
    st.subheader("The error curves", help=glossary.hint("tangent"))
    path_panel.panel(source, chosen.behavior, chosen.value, chosen.query)


def _wait(waiting: Waiting, chosen: state.CurveChoice, curves: Callable[..., None]) -> NoReturn:
    """For the chosen point; curves that are complete stay where they are, with their slider."""
    if error_panel.complete(chosen):
        left, right = st.columns([3, 2], gap="large")
        with left:
            curves(chosen, {})
        with right:
            job_panel.wait(waiting)
    job_panel.wait(waiting)


def _point(point: error_curves.CurvePoint, chosen: state.CurveChoice) -> None:
    st.subheader(f"The chosen point, {chosen.symbol} = {short(chosen.value)}")
    error_panel.metrics(point)
    chips.question(point.exact.scoring)
    chips.show(point.approximate.scoring, point.exact.scoring)
    chips.verdict_badge(tables.verdict(chosen.sources[0], point))
    error_panel.provenance(point)
    downloads.chart_extras(f"{chosen.panel}-point", error_panel.scatter_table(point),
                           [point.exact.scoring, point.approximate.scoring], chosen.scored[0],
                           quantity=downloads.oriented(["exact", "approximate"], [point.exact.scoring] * 2))


main()
