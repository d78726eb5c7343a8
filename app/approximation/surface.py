"""The error surface below a curve: agreement over a second parameter too, of which the curve is a slice."""

from __future__ import annotations

import numpy as np
import streamlit as st

from app.approximation.state import CurveChoice
from app.charts import surface as chart
from app.charts.draw import plot
from app.widgets.choices.selectors import toggle
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.basics.values import short
from engine.desk import commands
from engine.desk.analyses import SURFACES, ErrorSurface, ErrorSurfaceRequest, summarized
from engine.metrics.agreement import METRICS
from engine.question.behaviors import BEHAVIORS

NAME = "surface"
OF_PANEL = {"eta": "steps", "alpha": "damping"}
SEEN = {"steps": "Horizontal: step size; depth: number of steps on the example. The first-order ranking is the same "
                 "at every point, so agreement falls only because the exact answer changes.",
        "damping": "Horizontal: weight; depth: damping of the inverse Hessian. At damping 0 it is the optimum's "
                   "derivative; with more it answers a damped question, whatever the solver."}
SLICES = {"steps": "one step: the curve above", "damping": "damping 0: Cholesky in the curve above"}


def show(chosen: CurveChoice) -> None:
    """A switch, and below it the surface, or the job that computes it."""
    surface = SURFACES[OF_PANEL[chosen.panel]]
    if surface.refusal(chosen.sources[0].problem_class) or BEHAVIORS[chosen.behavior].words:
        return
    if not toggle(NAME, f"Error surface: {surface.title}",
                  help="Agreement over two parameters, as a surface that you can rotate. It runs as a job."):
        return
    source = chosen.sources[0]
    candidates = chosen.candidates or source.n_train or len(desk().sample(source)[1].y_train)
    request = ErrorSurfaceRequest(surface=surface.name, behavior=chosen.behavior, candidates=candidates)
    answer = job_panel.beside(desk().ask(request.of(source)))
    if answer is not None:
        _render(surface, answer.metrics, chosen, request)


def _render(surface: ErrorSurface, metrics: dict[str, np.ndarray], chosen: CurveChoice,
            request: ErrorSurfaceRequest) -> None:
    metric, table = METRICS[chosen.metric], summarized(surface.name, metrics)
    table = table[table.metric == chosen.metric]
    means = table["mean"].to_numpy().reshape(len(surface.rows), len(surface.columns))
    if np.isnan(means).all():
        st.info("No query has a defined value here.", icon=":material/landscape:")
        return
    low, high = table.loc[table["mean"].idxmin()], table.loc[table["mean"].idxmax()]
    across, deep = surface.symbols
    plot(chart.surface(means, surface.rows, surface.columns, (across, deep, metric.title), SLICES[surface.name]),
         f"{metric.title} of approximate and exact scores over {across} and {deep}: from {low['mean']:.3f} at {across} "
         f"{short(low[across])}, {deep} {short(low[deep])} to {high['mean']:.3f} at {across} {short(high[across])}, "
         f"{deep} {short(high[deep])}.", f"surface:{surface.name}:{chosen.metric}")
    glossary.caption(f"{SEEN[surface.name]} {metric.title}, mean over queries; B = {BEHAVIORS[chosen.behavior].title}, "
                     f"{request.candidates:,} candidates, first seed. Grid points are shown evenly spaced. Drag to "
                     "rotate.")
    downloads.chart_extras(f"surface-{surface.name}", table,
                           source=chosen.sources[0], command=commands.of_request(request, chosen.sources[0]),
                           charts=[f"surface:{surface.name}:{chosen.metric}"])
