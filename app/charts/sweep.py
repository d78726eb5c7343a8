"""Agreement with the exact answer, and time, over one setting of an approximation."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink
from app.widgets.frame.theme import SERIES

HEIGHT, SHORT, PANEL = 240, 150, 250


def agreement(table: pd.DataFrame, setting: str, metric: str, default: float) -> alt.LayerChart:
    """table: value, mean, ci95, seconds; a line with its interval. default: of the setting, marked by a dashed rule."""
    shown = table.assign(low=table["mean"] - table["ci95"], high=table["mean"] + table["ci95"])
    x, base = _across(shown, setting), alt.Chart(shown)
    y = alt.Y("mean:Q", title=metric, scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.18, color=SERIES[0], tooltip=None).encode(x=x, y=alt.Y("low:Q", title=metric),
                                                                              y2="high:Q")
    line = base.mark_line(point=True, strokeWidth=2, color=SERIES[0]).encode(x=x, y=y, tooltip=_tips(setting, metric))
    rule = ink.paint(alt.Chart(pd.DataFrame({"value": [default]})).mark_rule(strokeDash=[4, 3]).encode(x="value:Q"))
    return alt.layer(band, line, rule).properties(height=HEIGHT)


def multiples(table: pd.DataFrame, metric: str) -> alt.ConcatChart:
    """The same for several settings, a panel each on one scale of agreement. table: also setting, default."""
    panels = [agreement(rows, str(setting), metric, float(rows["default"].iloc[0])).properties(
        width=PANEL, height=SHORT) for setting, rows in table.groupby("setting", sort=False)]
    return alt.concat(*panels, columns=2).resolve_scale(y="shared")


def seconds(table: pd.DataFrame, setting: str, metric: str) -> alt.LayerChart:
    """The same table; the time that each value took."""
    line = alt.Chart(table).mark_line(point=True, strokeWidth=2, color=SERIES[1]).encode(
        x=_across(table, setting), y=alt.Y("seconds:Q", title="seconds", axis=alt.Axis(tickCount=3)),
        tooltip=_tips(setting, metric))
    return alt.layer(line).properties(height=SHORT)


def _across(table: pd.DataFrame, setting: str) -> alt.X:
    return alt.X("value:Q", title=f"{setting} (log scale)", scale=alt.Scale(type="log", nice=False),
                 axis=alt.Axis(grid=False, format="~g", values=sorted(table["value"])))


def _tips(setting: str, metric: str) -> list[alt.Tooltip]:
    return [alt.Tooltip("value:Q", title=setting, format="~g"), alt.Tooltip("mean:Q", title=metric, format=".3f"),
            alt.Tooltip("ci95:Q", title="± 95%", format=".3f"), alt.Tooltip("seconds:Q", format=".3~g")]
