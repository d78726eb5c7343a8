"""The legend of a colour ramp as a few labelled squares.

Not a gradient: the browser refers to one by the page's address as it was when the chart was drawn, and every choice
changes the address, after which the gradient is gone.
"""

from __future__ import annotations

from typing import Any

import altair as alt


def with_chance(title: str, low: float, high: float, chance: float, apart: float) -> alt.Legend:
    """Swatches of both ends, the middle and chance, which is named; the others stay at least `apart` from it."""
    ticks = sorted([tick for tick in (low, (low + high) / 2, high) if abs(tick - chance) > apart] + [chance])
    text = (f"abs(datum.value - {chance!r}) < 0.002 ? format(datum.value, '.2f') + ' chance' : "
            "format(datum.value, '.1f')")
    return swatches(title, values=ticks, labelExpr=text)


def swatches(title: str | None = None, **options: Any) -> alt.Legend:
    """The legend below its chart; options of `altair.Legend`, such as `values` and `labelExpr`."""
    return alt.Legend(title=title if title is not None else alt.Undefined, type="symbol", symbolType="square",
                      symbolSize=240, symbolStrokeWidth=0, orient="bottom", direction="horizontal", columnPadding=14,
                      titleLimit=320, **options)
