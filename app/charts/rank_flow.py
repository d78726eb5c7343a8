"""The top of several rankings side by side: a line each example, from its rank in one to its rank in the next."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from app.charts import ink, tips
from app.charts.rank_change import CHOSEN

HEIGHT = 520
IN = ("in the top of all", "of several", "of one alone")
TONES = (ink.INK, 3, ink.QUIET)
"""Their colours in the palette, none of which stands for B, P or T."""


def membership(tops: int, count: int) -> str:
    """In how many of the tops of `count` rankings an example is, as the legend calls it."""
    return IN[0] if tops == count else IN[2] if tops == 1 else IN[1]


def flow(rows: pd.DataFrame, names: Sequence[str], top: int, noun: str = "label") -> alt.LayerChart:
    """rows as `app.widgets.results.two_rankings.flow` gives them; names: of the rankings, in order. Ranks are on a log
    scale; the dashed line ends the top."""
    rank, label = rows["rank"].map("{:,}".format), rows[noun].astype(str)
    shown = rows.assign(name=[names[index] for index in rows.ranking], left=label + " · " + rank,
                        right=rank + " · " + label, membership=[membership(tops, len(names)) for tops in rows.tops])
    lowest = max(float(rows["rank"].max()), top + 1.0)
    hover = alt.selection_point(name="hovered", fields=["example"], on="pointerover", clear="pointerout", empty=False)
    clicked = alt.selection_point(name=CHOSEN, fields=["example"], on="click", empty=False)
    base = alt.Chart(shown).encode(
        x=alt.X("name:N", sort=list(names), title=None, scale=alt.Scale(type="point", padding=0.5), axis=alt.Axis(
            orient="top", labelAngle=0, domain=False, ticks=False, labelPadding=20, labelOverlap=False,
            labelExpr="split(datum.label, ' · ')")),
        y=alt.Y("rank:Q", title="rank (log scale)", scale=alt.Scale(type="log", reverse=True, nice=False,
                                                                    domain=[0.85, lowest * 1.15]),
                axis=alt.Axis(grid=False, values=_ticks(lowest), format=",d")))
    scale = ink.named(dict(zip(IN, TONES, strict=True)))
    colour = alt.Color("membership:N", scale=scale, legend=alt.Legend(
        title=f"Among the top {top}", values=list(IN), orient="bottom", symbolType="stroke", symbolStrokeWidth=3))
    lines = base.mark_line(interpolate="monotone", tooltip=None).encode(
        color=colour, detail="example:N", strokeDash=alt.StrokeDash("membership:N", legend=None, scale=alt.Scale(
            domain=list(IN), range=[[1, 0], [5, 3], [2, 2]])),
        strokeWidth=alt.condition(hover, alt.value(4), alt.value(1.6)))
    dots = base.mark_circle(size=60, opacity=1, cursor="pointer").encode(
        color=alt.Color("membership:N", scale=scale, legend=None),
        tooltip=[*tips.of_examples(shown), alt.Tooltip("example:Q", title="Training example"),
                 alt.Tooltip(f"{noun}:N", title=noun.capitalize()), alt.Tooltip("name:N", title="Under"),
                 alt.Tooltip("rank:Q", title="Rank")]).add_params(hover, clicked)
    end = alt.Chart(pd.DataFrame({"rank": [top + 0.5]})).mark_rule(strokeDash=[3, 3], strokeWidth=1, tooltip=None)
    named = [ink.paint(base.transform_filter(f"datum.rank <= {top} && datum.ranking == {ranking}").mark_text(
        align=side, dx=9 if side == "left" else -9, fontSize=10, tooltip=None).encode(text=field))
        for ranking, side, field in ((0, "right", "left:N"), (len(names) - 1, "left", "right:N"))]
    return alt.layer(ink.paint(end, ink.QUIET, alt.Stroke).encode(y="rank:Q"), lines, dots, *named).resolve_scale(
        color="independent", stroke="independent").properties(height=HEIGHT)


def _ticks(lowest: float) -> list[int]:
    """1, 2, 5, 10 … up to the lowest rank."""
    return [step * 10**power for power in range(7) for step in (1, 2, 5) if step * 10**power <= lowest]
