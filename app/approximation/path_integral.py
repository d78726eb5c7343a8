"""Along the path (paper, Eq. 7): the rate at which a behavior changes while one example's weight grows from 0 to α."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.charts import path as chart
from app.charts.draw import draw
from app.widgets.choices.selectors import number, toggle
from app.widgets.examples import cards
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.basics.values import figures, short
from engine.desk import Problem, ProblemSource, Waiting, commands
from engine.desk.analyses import PathIntegral, path_integral
from engine.question import direction
from engine.question.behaviors import BEHAVIORS

NAME, EXAMPLE = "path", "path_example"


def panel(source: ProblemSource, behavior: str, alpha: float, query: int) -> None:
    """A switch, and below it the path of one training example for one query."""
    shown = toggle(NAME, "Follow one example along the path",
                   help="The difference between the optimum at weight α and at weight 0 is the integral of the "
                        "derivative along the path of optima. The inverse Hessian gives the derivative at its start.")
    sampled = desk().sampled(source) if shown else None
    if sampled is None or isinstance(sampled, Waiting):
        return
    row = number(EXAMPLE, "Training example", 0, 0, sampled.problem.n - 1, width=240)
    try:
        path = _followed(sampled.problem, source.key, row, alpha, behavior)
    except WhichfluenceError as error:
        st.info(sentence(error), icon=":material/route:")
        return
    _show(path, source, behavior, alpha, query, row)


@st.cache_data(show_spinner="Computing the path of optima …", max_entries=40)
def _followed(_problem: Problem, source: str, row: int, alpha: float, behavior: str) -> PathIntegral:
    with _problem.exclusive:
        return path_integral(_problem, row, alpha, BEHAVIORS[behavior])


def _show(path: PathIntegral, source: ProblemSource, behavior: str, alpha: float, query: int, row: int) -> None:
    rates = pd.DataFrame({"alpha": [0.0, *path.alphas.tolist(), alpha], "rate": [
        path.first[query].item(), *path.integrand[:, query].tolist(), path.last[query].item()]})
    first = path.first[query].item()
    read = BEHAVIORS[behavior]
    area, ends = path.integral[query].item(), path.difference[query].item()
    draw(chart.rates, rates, pd.DataFrame({"alpha": [0.0, alpha], "rate": [first, first]}),
         direction.rate(read), key="path:rates",
         alt=direction.along_path(read, query, row, figures(first), figures(path.last[query].item()),
                                    short(alpha)))
    equal = direction.area(read, f"**{cards.number(area)}**", f"**{cards.number(ends)}**")
    glossary.markdown(f"{equal} (largest gap over all queries {figures(path.gap, 2)}). The dashed rectangle, "
                      f"**{cards.number(first * alpha)}**, is the inverse Hessian's answer.")
    glossary.caption(
        f"Query {query}, training example {row}, α from 0 to {short(alpha)}. The same number, computed in two ways: "
        f"{len(path.alphas)} re-optimised points in between, and the two ends alone. A gap larger than rounding error "
        "would mean that a re-optimisation did not converge.")
    downloads.chart_extras("path", rates, command=commands.of_problem(
        "path-integral", source, "--behavior", behavior, "--alpha", repr(alpha), "--example", row, "--out", "path.csv"),
                           quantity=direction.rate(read), source=source, charts=["path:rates"])
