"""The paper's value and ours a row: as two dots with their intervals, and as a difference beside its tolerance."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink

NEUTRAL = "#8A8F98"  # stands out a little on white and on black
WHO = ("the paper", "ours")
STEP = 40
LABEL = alt.Axis(labelExpr="split(datum.label, '|')", labelLimit=230, title=None, ticks=False, domain=False,
                 labelPadding=10, labelLineHeight=14)


def values(rows: pd.DataFrame, measure: str, chance: float | None) -> alt.LayerChart:
    """rows: label, paper, spread, ours, ci95."""
    points = pd.concat([
        pd.DataFrame({"label": rows["label"], "who": WHO[0], "value": rows["paper"], "half": rows["spread"]}),
        pd.DataFrame({"label": rows["label"], "who": WHO[1], "value": rows["ours"], "half": rows["ci95"]}),
    ]).dropna(subset="value")
    points = points.assign(low=points["value"] - points["half"].fillna(0.0),
                           high=points["value"] + points["half"].fillna(0.0))
    low = min(0.0, float(points["low"].min()))
    scale = alt.Scale(domain=[low, max(1.0, float(points["high"].max()))], nice=False, padding=8)
    order = list(rows["label"])
    y = alt.Y("label:N", sort=order, axis=LABEL)
    offset = alt.YOffset("who:N", sort=list(WHO), scale=alt.Scale(paddingOuter=0.55))
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=90, values=list(WHO))
    scale_of_who = ink.named({WHO[1]: 0, WHO[0]: 6})
    color = alt.Color("who:N", scale=scale_of_who, legend=legend)
    shape = alt.Shape("who:N", scale=_shapes(scale_of_who, {WHO[0]: "diamond"}), legend=legend)
    tip = [alt.Tooltip("label:N", title="comparison"), alt.Tooltip("who:N", title="from"),
           alt.Tooltip("value:Q", title=measure, format=".3f"), alt.Tooltip("half:Q", title="±", format=".3f")]
    base = alt.Chart(points).encode(y=y, yOffset=offset, color=color, tooltip=tip)
    layers = [
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=measure, scale=scale,
                                                     axis=alt.Axis(tickCount=6, format=".1f")), x2="high:Q"),
        base.mark_point(filled=True, size=75, opacity=1).encode(x="value:Q", shape=shape),
    ]
    if chance is not None and chance > low:
        layers.insert(0, _rule(chance, "random order"))
    return _sized(alt.layer(*layers))


def differences(rows: pd.DataFrame) -> alt.LayerChart:
    """rows: label, difference, difference_ci95, tolerance, within. A grey bar is the tolerance."""
    rows = rows.dropna(subset="difference")
    half = rows["difference_ci95"].fillna(0.0)
    frame = rows.assign(low=rows["difference"] - half, high=rows["difference"] + half,
                        least=-rows["tolerance"], most=rows["tolerance"],
                        verdict=rows["within"].map({True: "inside", False: "outside"}).fillna("not judged"))
    reach = 1.15 * max(0.025, float(frame[["low", "high", "least", "most"]].abs().max().max()))
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    kinds = ["inside", "outside", "not judged"]
    y = alt.Y("label:N", sort=list(rows["label"]), axis=LABEL)
    x = alt.X("low:Q", title="ours − the paper", scale=scale, axis=alt.Axis(tickCount=5, format="+.2~f"))
    legend = alt.Legend(title=None, orient="top", direction="horizontal", symbolSize=90,
                        values=[kind for kind in kinds if kind in set(frame["verdict"])])
    judged = ink.named({"inside": 0, "outside": 1, "not judged": 6})
    color = alt.Color("verdict:N", scale=judged, legend=legend)
    shape = alt.Shape("verdict:N", legend=legend,
                      scale=_shapes(judged, {"outside": "triangle-up", "not judged": "diamond"}))
    base = alt.Chart(frame).encode(y=y, tooltip=[
        alt.Tooltip("label:N", title="comparison"), alt.Tooltip("difference:Q", title="ours − paper", format="+.3f"),
        alt.Tooltip("difference_ci95:Q", title="± 95%", format=".3f"), alt.Tooltip("tolerance:Q", title="tolerance"),
        alt.Tooltip("verdict:N", title="tolerance kept")])
    band = base.transform_filter("isValid(datum.tolerance)").mark_bar(opacity=0.25, size=18, color=NEUTRAL).encode(
        x=alt.X("least:Q", scale=scale), x2="most:Q")
    return _sized(alt.layer(
        band, _rule(0.0, "no difference"),
        base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", color=color),
        base.mark_point(filled=True, size=75, opacity=1).encode(x=alt.X("difference:Q", scale=scale), color=color,
                                                                shape=shape),
    ))


def height(rows: pd.DataFrame) -> int:
    """Pixels of a chart of these rows with its legend and axis, so that its place is kept while it is drawn."""
    return STEP * rows["label"].nunique() + 90


def _sized(chart: alt.LayerChart) -> alt.LayerChart:
    return chart.properties(height=alt.Step(STEP, **{"for": "position"}))


def _shapes(scale: alt.Scale, shapes: dict[str, str]) -> alt.Scale:
    """Shapes over the same names as a scale of colours, so that one legend shows both."""
    return alt.Scale(domain=scale.domain, range=[shapes.get(name, "circle") for name in scale.domain])


def _rule(x: float, name: str) -> alt.Chart:
    return alt.Chart(pd.DataFrame({"x": [x], "name": [name]})).mark_rule(
        strokeDash=[3, 3], color=NEUTRAL).encode(x="x:Q", tooltip=alt.Tooltip("name:N", title="line"))
