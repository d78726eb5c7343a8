"""Dots of training examples, of which a click chooses one and a lasso or a box a group: the selection of all pages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from app.charts import dots
from app.charts.draw import plot
from app.widgets.examples import selection

HOW = ("A click on a dot chooses its training example. For a group take the lasso or the box above the chart; *Clear* "
       "lets both go.")


@dataclass
class _Drawn:
    """What a chart was drawn with, and what it has said since. Plotly forgets a selection when its figure changes, so
    the figure stays as it was drawn while the selection comes from the chart itself."""

    content: str
    number: int
    group: tuple[int, ...]
    example: int | None
    known: tuple[tuple[int, ...], int | None]
    said: Any = None


@dataclass(frozen=True)
class DotChart:
    """A chart of dots by the `name` that its keys begin with."""

    name: str

    def show(self, points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str], alt: str, **options: Any) -> None:
        """Draw the dots as `app.charts.dots.plane` takes them; its `options`."""
        content = _digest(points, order, axes, options)
        drawn = self._drawn(content)
        known = selection.group(), selection.example()
        if drawn is None or drawn.known != known:
            drawn = _Drawn(content, drawn.number + 1 if drawn else 0, *known, known)
            st.session_state[self._state] = drawn
        figure = dots.plane(points, order, axes, drawn.group, drawn.example, **options)
        plot(figure, alt, self._key(drawn), on_select="rerun", selection_mode=("points", "box", "lasso"))

    def take(self, points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str], **options: Any) -> None:
        """Make what was clicked or marked since the last run the selection; call it before the selection is read."""
        drawn = self._drawn(_digest(points, order, axes, options))
        said = (st.session_state.get(self._key(drawn)) or {}).get("selection") if drawn else None
        if drawn is None or said is None or said == drawn.said:
            return
        first, drawn.said = drawn.said is None, dict(said)
        rows = dots.rows(points, order, said.get("points", ()))
        if said.get("box") or said.get("lasso") or len(rows) > 1:
            selection.gather(rows)
        elif rows:
            selection.choose(rows[0])
        elif not first:
            selection.gather(())
        drawn.known = selection.group(), selection.example()

    def _drawn(self, content: str) -> _Drawn | None:
        """How the chart stands on the page; None where other dots were drawn last."""
        drawn = st.session_state.get(self._state)
        return drawn if drawn is not None and drawn.content == content else None

    def _key(self, drawn: _Drawn) -> str:
        return f"{self.name}:{drawn.content}:{drawn.number}"

    @property
    def _state(self) -> str:
        return f"{self.name}:drawn"


def _digest(points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str], options: Any) -> str:
    total = hashlib.sha256(repr((list(order), axes, sorted(options.items()), list(points.columns))).encode())
    total.update(pd.util.hash_pandas_object(points, index=False).to_numpy().tobytes())
    return total.hexdigest()[:12]
