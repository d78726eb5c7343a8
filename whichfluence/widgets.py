"""A view of a comparison for notebooks: the agreement of all pairs beside the ends of the rankings of one query.

Its controls are those of the chart itself, so that it works wherever a notebook draws Altair's charts, and in a file
that the chart is saved to. As a widget it also tells Python what is chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from app.charts.heatmap import SELECTION
from engine.basics.errors import InvalidInput
from engine.scoring.scores import Scores
from whichfluence.charts import themed

DEEPEST = 25
"""The largest k: so many candidates of each end are in the chart."""
MOST_ROWS, HEIGHT = 100_000, 300


def explored(matrix: alt.LayerChart, scores: Mapping[str, Scores], k: int) -> alt.HConcatChart:
    """A matrix of pairs, of which a click or two menus choose a cell, beside the rankings of its pair for a query; a
    click on a bar marks its candidate in both.

    Raises `InvalidInput` for k out of 1 to DEEPEST, and for more than MOST_ROWS bars of all queries.
    """
    names = list(scores)
    queries = len(next(iter(scores.values())).values)
    if not 1 <= k <= DEEPEST:
        raise InvalidInput(f"k is {k}; choose one from 1 to {DEEPEST}.")
    if (bars := queries * len(names) * 2 * DEEPEST) > MOST_ROWS:
        raise InvalidInput(f"The chart would hold {bars:,} bars; compare fewer queries or specifications.")
    query = alt.param("query", value=0, bind=alt.binding_range(min=0, max=queries - 1, step=1, name="query "))
    depth = alt.param("k", value=k, bind=alt.binding_range(min=1, max=DEEPEST, step=1, name="k "))
    data, candidate = alt.Data(values=_ends(scores)), alt.selection_point(name="candidate", fields=["candidate"])
    first, second = (_ranking(data, side, names, candidate) for side in ("row", "column"))
    return themed(alt.hconcat(_choosable(matrix, names), first.add_params(candidate), second).add_params(query, depth))


def _choosable(matrix: alt.LayerChart, names: list[str]) -> alt.LayerChart:
    """The matrix with menus for its pair, at first the first two, and an outline where that is."""
    pair = next(param for param in matrix.params if param.name == SELECTION)
    pair.value = [{"row": 0, "column": 1}]
    pair.bind = {side: alt.binding_select(options=list(range(len(names))), labels=names, name=title)
                 for side, title in {"column": "beside ", "row": "specification "}.items()}
    outline = alt.Chart(matrix.data).transform_filter(
        f"datum.row == {SELECTION}.row[0] && datum.column == {SELECTION}.column[0]"
    ).mark_rect(fillOpacity=0, stroke="black", strokeWidth=2.5, tooltip=None).encode(
        x=alt.X("column:O", sort=None), y=alt.Y("first:N", sort=None))
    matrix.usermeta = alt.Undefined  # which only a whole chart may have
    height, matrix.height = matrix.height, alt.Undefined
    return alt.layer(matrix, outline).properties(width=56 * len(names), height=height)


def _ranking(data: alt.Data, side: str, names: list[str], candidate: alt.Parameter) -> alt.Chart:
    """The ends of the ranking of one of the pair."""
    title = alt.Title(alt.ExprRef(f"{json.dumps(names)}[{SELECTION}.{side}[0]]"))
    return alt.Chart(data, title=title).transform_filter(
        f"datum.query == query && min(datum.best, datum.worst) < k && datum.row == {SELECTION}.{side}[0]"
    ).mark_bar().encode(
        x=alt.X("oriented:Q", title=["score (positive:", "supports the behavior)"],
                axis=alt.Axis(format=".1e", tickCount=4)),
        y=alt.Y("candidate:N", title="training example", sort="-x"),
        opacity=alt.condition(candidate, alt.value(1.0), alt.value(0.3)),
        tooltip=["candidate:N", alt.Tooltip("score:Q", format=".3g")]).properties(width=200, height=HEIGHT)


def widget(chart: alt.HConcatChart) -> Any:
    """The chart as a widget. Raises `InvalidInput` where anywidget is not installed."""
    try:
        return alt.JupyterChart(chart)
    except ImportError:
        raise InvalidInput("A widget needs anywidget; install `whichfluence[notebook]`, or show `explore()`, whose "
                           "controls are the same.") from None


def _ends(scores: Mapping[str, Scores]) -> list[dict[str, Any]]:
    """The candidates of either end of every ranking: best, worst count from 0 at its ends."""
    rows = []
    for row, own in enumerate(scores.values()):
        oriented = np.where(own.converged, own.oriented, np.nan)
        for query, values in enumerate(oriented):
            order = np.argsort(-values, kind="stable")
            order = order[~np.isnan(values[order])]
            ends = np.unique([*range(len(order))[:DEEPEST], *range(len(order))[-DEEPEST:]]).astype(int)
            rows += [{"row": row, "query": query, "candidate": int(own.candidates[index]), "best": best,
                      "worst": len(order) - 1 - best, "score": float(own.values[query, index]),
                      "oriented": float(values[index])}
                     for best, index in zip(ends.tolist(), order[ends], strict=True)]
    return rows
