"""Predicted against measured durations, a dot a run, on logarithmic axes."""

from __future__ import annotations

import altair as alt
import pandas as pd

from app.widgets.frame.theme import SERIES


def against(frame: pd.DataFrame, factor: float) -> alt.LayerChart:
    """frame: run, predicted (s), from (s), to (s), measured (s). The band is where a prediction is right within
    `factor`."""
    seconds = frame[["predicted (s)", "measured (s)"]]
    low, high = float(seconds.min().min()) / factor, float(seconds.max().max()) * factor
    band = pd.DataFrame({"x": [low, high], "low": [low / factor, high / factor], "high": [low * factor, high * factor]})
    scale = alt.Scale(type="log", domain=[low, high], clamp=True)
    x, y = alt.X("x:Q", title="predicted seconds (log scale)", scale=scale), alt.Y(
        "low:Q", title="measured seconds (log scale)", scale=scale)
    dots = alt.Chart(frame.rename(columns={"predicted (s)": "x", "measured (s)": "low"})).encode(x=x, y=y)
    return alt.layer(
        alt.Chart(band).mark_area(opacity=0.15, color=SERIES[0]).encode(x=x, y=y, y2="high:Q"),
        dots.mark_point(filled=True, size=60, opacity=0.9, color=SERIES[0]).encode(tooltip=[
            alt.Tooltip("run:N"), alt.Tooltip("kind:N"), alt.Tooltip("x:Q", title="predicted", format=".3s"),
            alt.Tooltip("low:Q", title="measured", format=".3s")])).properties(height=300)
