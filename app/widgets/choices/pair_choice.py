"""A pair of a list, opened by a click on a heatmap or by two boxes, and kept in the address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from app.charts import heatmap
from app.widgets.choices import choice, inputs


@dataclass(frozen=True)
class PairChoice:
    """Which two of a list are opened, counted from 0; in the address they count from 1, as on the page.

    name: of the choice. page: what the keys of its widgets begin with.
    """

    name: str
    page: str

    def chosen(self, count: int, default: tuple[int, int]) -> tuple[int, int]:
        """The opened pair of a list of `count`; what the address says and makes no sense is dropped with a message."""
        pair = choice.one(self.name, default, _parse(count))
        self.open(*pair)
        return pair

    def open(self, first: int, second: int) -> None:
        choice.keep(self.name, f"{first + 1}-{second + 1}")

    @property
    def chart_key(self) -> str:
        """The heatmap's key. It moves on when a pair is chosen elsewhere, so that any cell can be clicked again."""
        return f"{self.page}:heatmap:{st.session_state.get(self._clicks, 0)}"

    def take_click(self, count: int) -> tuple[int, int] | None:
        """Open the pair that was clicked since the last run, and return its row and column; None without a new click.
        Call before the pair is read. The diagonal opens nothing."""
        state = st.session_state.get(self.chart_key) or {}
        points = state.get("selection", {}).get(heatmap.SELECTION) or []
        clicked = (self.chart_key, points[-1].get("row"), points[-1].get("column")) if points else None
        if clicked is None or clicked == st.session_state.get(self._handled):
            return None
        st.session_state[self._handled] = clicked
        _, row, column = clicked
        if max(row, column) >= count:
            return None
        if row != column:
            self.open(min(row, column), max(row, column))
        return row, column

    def boxes(self, labels: Sequence[str], pair: tuple[int, int], noun: str, visibility: str = "visible") -> None:
        """The keyboard's way to a pair. noun: what is listed, e.g. `specification`. visibility: of the two labels."""
        keys = f"{self.page}:first", f"{self.page}:second"
        for key, index in zip(keys, pair, strict=True):
            st.session_state[key] = index
        for column, key, title in zip(st.columns(2), keys, ("First", "Second"), strict=True):
            inputs.selectbox(f"{title} {noun}", range(len(labels)), key=key, area=column, label_visibility=visibility,
                             format_func=labels.__getitem__, on_change=self._boxed, args=(keys, key, pair))

    def _boxed(self, keys: tuple[str, str], changed: str, before: tuple[int, int]) -> None:
        """Choosing the other box's entry swaps the two."""
        first, second = (st.session_state[key] for key in keys)
        if first == second:
            first, second = (first, before[0]) if changed == keys[0] else (before[1], second)
        self.open(first, second)
        st.session_state[self._clicks] = st.session_state.get(self._clicks, 0) + 1

    @property
    def _clicks(self) -> str:
        return f"{self.page}:clicks"

    @property
    def _handled(self) -> str:
        return f"{self.page}:handled"


def _parse(count: int) -> Callable[[str], tuple[int, int]]:
    def parse(text: str) -> tuple[int, int]:
        first, _, second = text.partition("-")
        if not (first.isdecimal() and second.isdecimal()):
            raise ValueError("give two numbers of the list, such as 1-2")
        pair = int(first) - 1, int(second) - 1
        if pair[0] == pair[1] or not all(0 <= number < count for number in pair):
            raise ValueError(f"choose two different numbers from 1 to {count}")
        return pair

    return parse
