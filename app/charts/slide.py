"""A slider in the browser along the curves of a chart: a rule, a dot on each curve, and all values in words.

All places have been sent with the chart, so that no run of the page stands between the hand and what it moves.
"""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import pandas as pd

from app.charts import ink

CHOSEN = "at"
"""The selection of the slider: the place where it stands, as the column `place` counts them."""
_STOP = f"{CHOSEN}_place"


def parameter(count: int, start: int, name: str) -> alt.Parameter:
    """The slider over so many places, called `name`."""
    bind = alt.binding_range(min=0, max=count - 1, step=1, name=name)
    return alt.selection_point(name=CHOSEN, fields=["place"], bind=bind, value=[{"place": start}])


def layers(stops: pd.DataFrame, slider: alt.Parameter, x: alt.X, y: alt.Y, color: alt.Color) -> list[alt.Chart]:
    """stops: series, place, x, mean; one row a series and place."""
    here = alt.Chart(stops).transform_filter(f"datum.place == {_STOP}")
    one = alt.Chart(stops[stops["series"] == stops["series"].iloc[0]]).transform_filter(f"datum.place == {_STOP}")
    rule = one.mark_rule(strokeWidth=1.4, opacity=0.7, strokeDash=[4, 3], color="#888888").encode(x=x)
    value = ink.paint(one.mark_text(baseline="bottom", dy=-3, fontSize=12, fontWeight=600).encode(
        x=x, y=alt.value(0), text=alt.Text("x:Q", format=".3~g")), channel=alt.Fill)
    dots = here.mark_point(filled=True, size=150, stroke="#888888", strokeWidth=1.5, opacity=1, shape="circle",
                           tooltip=None)
    return [rule.add_params(slider), value, dots.encode(x=x, y=y, color=color)]


def labels(stops: pd.DataFrame) -> str:
    """An expression of Vega: the name of a series in the legend, with its value where the slider stands."""
    said = {series: [f"{mean:.3f}" if mean == mean else "—" for mean in rows.sort_values("place")["mean"]]
            for series, rows in stops.groupby("series", sort=False)}
    return f"datum.label + '  ' + (({json.dumps(said)})[datum.label] || {{}})[{_STOP}]"


def chosen(state: Any) -> int | None:
    """Where the slider stands, as the browser has sent it; None before it was moved."""
    selected = state["selection"].get(CHOSEN) if state else None
    return int(selected[0]["place"]) if selected else None
