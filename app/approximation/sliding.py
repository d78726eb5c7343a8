"""The complete curves with a slider that answers in the browser; the page follows once it rests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from app.approximation import data as tables
from app.approximation.state import CurveChoice, slid
from app.charts import slide
from app.charts.curves import agreement_curves
from app.charts.draw import draw
from engine.desk.error_curves import live

_SENT = "approximation:sent"


def show(chosen: CurveChoice, means: pd.DataFrame, seeds: pd.DataFrame, order: Sequence[str], titles: tuple[str, str],
         ticks: Sequence[float], published: pd.DataFrame | None, height: int, said: str) -> str:
    """The curves; returns what there is to know of reading them."""
    start = _start(chosen)
    stops = tuple(sorted({*chosen.stops, start}))
    draw(agreement_curves, means, seeds, list(order), titles, list(ticks), published, tables.at_stops(means, stops),
         stops.index(start), height, key=key(chosen), on_select=partial(_moved, key(chosen), chosen.panel, stops),
         selection_mode=[slide.CHOSEN], alt=said)
    if not live(chosen.sources[0]):
        return f"The slider stops at computed points; the legend gives the curves' values there, at {chosen.symbol}."
    missed = tables.missed(means)
    known = (f" The interpolation error at a held-out computed point is at most {missed:.3f}."
             if missed == missed else "")
    return (f"Move the slider to any {chosen.symbol}: the legend gives the curves' values there, interpolated linearly "
            f"on this scale between computed points.{known} When the slider stops, the chosen point is computed for "
            "the first seed.")


def key(chosen: CurveChoice) -> str:
    """Of the chart with the slider."""
    return f"curves:{chosen.panel}:{_start(chosen):g}"


def _start(chosen: CurveChoice) -> float:
    """Where the slider stands in the chart as it was sent. While the reader moves it the chart stays as it is, so
    that the browser does not draw it anew under the hand."""
    view = (chosen.panel, chosen.sources, chosen.metric, chosen.behavior, chosen.candidates, chosen.published)
    sent = st.session_state.get(_SENT)
    if sent is None or sent["view"] != view or sent["now"] != chosen.value:
        sent = st.session_state[_SENT] = {"view": view, "start": chosen.value, "now": chosen.value}
    return sent["start"]


def _moved(chart: str, panel: str, stops: Sequence[float]) -> None:
    """The reader's choice is where the slider rests."""
    stop = slide.chosen(st.session_state[chart])
    if stop is not None:
        st.session_state[_SENT]["now"] = stops[stop]
        slid(panel, stops[stop])
