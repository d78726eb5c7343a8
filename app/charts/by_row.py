"""Charts whose height is that of their rows."""

from __future__ import annotations

from typing import Any

import altair as alt


def high(count: int, row: int) -> dict[str, Any]:
    """Properties of a chart of so many rows, `row` pixels each: its axes and legends come on top, so that they do not
    press the rows together. (`alt.Step` says the same, but Vega-Lite then warns that it cannot fit the height.)"""
    return {"height": count * row, "autosize": alt.AutoSizeParams(type="fit-x", contains="padding")}
