"""Slope chart of the top of two rankings: who stays, who leaves, who comes in."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.charts import ink, tips

CHOSEN = "chosen"
"""The selection of a clicked dot, with its `example`."""
MEMBERSHIP = ("in both", "only in the first", "only in the second")
ROW, AROUND = 15, 130  # pixels: of a row, and of the axis and legend


def rank_change(changes: pd.DataFrame, first: str, second: str, top: int, noun: str = "label") -> alt.LayerChart:
    """`changes` as `app.widgets.results.two_rankings.top_changes` gives them; the dashed line ends the top. noun: the
    column that says what an example is labelled. Tooltips show what `tips` finds in the table."""
    lines = _long(changes, first, second, noun)
    lowest = max(float(lines.position.max()), float(top)) + 0.8
    hover = alt.selection_point(name="hovered", fields=["example"], on="pointerover", clear="pointerout", empty=False)
    clicked = alt.selection_point(name=CHOSEN, fields=["example"], on="click", empty=False)
    base = alt.Chart(lines).encode(
        x=alt.X("side:N", title=None, sort=[first, second], scale=alt.Scale(padding=0.6, type="point"),
                axis=alt.Axis(orient="top", labelAngle=0, labelLimit=220, domain=False, ticks=False, labelPadding=4)),
        y=alt.Y("position:Q", title=None, axis=None, scale=alt.Scale(domain=[0.2, lowest], reverse=True, nice=False)))
    colour = alt.Color("membership:N", scale=alt.Scale(domain=list(MEMBERSHIP), range="category"), legend=alt.Legend(
        title=f"Among the top {top}", orient="bottom", direction="horizontal", columns=1, symbolType="stroke"))
    strokes = base.mark_line(tooltip=None).encode(
        color=colour, detail="example:N",
        strokeDash=alt.StrokeDash("membership:N", legend=None, scale=alt.Scale(
            domain=list(MEMBERSHIP), range=[[1, 0], [5, 3], [2, 2]])),
        strokeWidth=alt.condition(hover, alt.value(3.5), alt.value(1.4)))
    dots = base.mark_circle(size=44, opacity=1, cursor="pointer").encode(
        color=alt.Color("membership:N", scale=alt.Scale(domain=list(MEMBERSHIP), range="category"), legend=None),
        tooltip=[*tips.of_examples(lines), alt.Tooltip("example:Q", title="Training example"),
                 alt.Tooltip(f"{noun}:N", title=noun.capitalize()),
                 alt.Tooltip("rank_a:Q", title="Rank under the first"),
                 alt.Tooltip("rank_b:Q", title="Rank under the second")]).add_params(hover, clicked)
    end = ink.paint(base.transform_aggregate(count="count()", groupby=["side"]).transform_calculate(
        position=str(top + 0.8)).mark_line(strokeDash=[3, 3], strokeWidth=1, tooltip=None), ink.QUIET)
    names = [ink.paint(base.transform_filter(f"datum.left == {str(left).lower()}").mark_text(
        align="right" if left else "left", dx=-9 if left else 9, fontSize=11, tooltip=None).encode(text="text:N"))
             for left in (True, False)]
    layers = alt.layer(end, strokes, dots, *names).resolve_scale(color="independent")
    return layers.properties(height=ROW * lowest + AROUND)


def _long(changes: pd.DataFrame, first: str, second: str, noun: str) -> pd.DataFrame:
    """Two rows a candidate, one a side."""
    sides = []
    for side, name in (("a", first), ("b", second)):
        rank, label = changes[f"rank_{side}"].map("{:,}".format), "“" + changes[noun].astype(str) + "”"
        text = label + " · " + rank if side == "a" else rank + " · " + label
        sides.append(changes[["example", noun, "rank_a", "rank_b", "membership", *tips.held(changes)]].assign(
            side=name, left=side == "a", position=changes[f"position_{side}"], text=text))
    return pd.concat(sides, ignore_index=True)
