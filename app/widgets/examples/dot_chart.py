"""Dots of training examples, of which a click chooses one and a lasso or a box a group: the selection of all pages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from app.charts import dots, flat_dots
from app.charts.draw import plot
from app.widgets.examples import selection

HOW = ("Click a dot to select its training example. For a group use the lasso or the box above the chart; *Clear* "
       "deselects both.")


@dataclass
class _Rendered:
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
        rendered = self._rendered(content)
        known = selection.group(), selection.example()
        if rendered is None or rendered.known != known:
            rendered = _Rendered(content, rendered.number + 1 if rendered else 0, *known, known)
            st.session_state[self._state] = rendered
        figure = dots.plane(points, order, axes, rendered.group, rendered.example, **options)
        flat = partial(flat_dots.plane, points, order, axes, *known, **options)
        plot(figure, alt, self._key(rendered), flat, self.name, on_select="rerun",
             selection_mode=("points", "box", "lasso"))

    def take(self, points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str], **options: Any) -> None:
        """Make what was clicked or marked since the last run the selection; call it before the selection is read."""
        rendered = self._rendered(_digest(points, order, axes, options))
        said = (st.session_state.get(self._key(rendered)) or {}).get("selection") if rendered else None
        if rendered is None or said is None or said == rendered.said:
            return
        first, rendered.said = rendered.said is None, dict(said)
        rows = dots.rows(points, order, said.get("points", ()))
        if said.get("box") or said.get("lasso") or len(rows) > 1:
            selection.gather(rows)
        elif rows:
            selection.choose(rows[0])
        elif not first:
            selection.gather(())
        rendered.known = selection.group(), selection.example()

    def _rendered(self, content: str) -> _Rendered | None:
        """How the chart stands on the page; None where other dots were drawn last."""
        rendered = st.session_state.get(self._state)
        return rendered if rendered is not None and rendered.content == content else None

    def _key(self, rendered: _Rendered) -> str:
        return f"{self.name}:{rendered.content}:{rendered.number}"

    @property
    def _state(self) -> str:
        return f"{self.name}:drawn"


def _digest(points: pd.DataFrame, order: Sequence[str], axes: tuple[str, str], options: Any) -> str:
    total = hashlib.sha256(repr((list(order), axes, sorted(options.items()), list(points.columns))).encode())
    total.update(pd.util.hash_pandas_object(points, index=False).to_numpy().tobytes())
    return total.hexdigest()[:12]
