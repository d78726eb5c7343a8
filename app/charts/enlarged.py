"""Charts for a projector: letters and marks that are read from the last row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LETTERS = 21
"""Pixels of the letters of an enlarged chart."""
_MARKS = {"size": 2.6, "strokeWidth": 1.7}
_HEIGHT: ContextVar[int | None] = ContextVar("height", default=None)


@contextmanager
def enlarged(height: int) -> Iterator[None]:
    """Draw the charts within so many pixels high, with large letters and marks."""
    before = _HEIGHT.set(height)
    try:
        yield
    finally:
        _HEIGHT.reset(before)


def enlarging() -> bool:
    """Whether charts are enlarged now."""
    return _HEIGHT.get() is not None


def sized(spec: dict[str, Any]) -> dict[str, Any]:
    """A Vega-Lite specification as it is to be drawn now: itself, or enlarged."""
    height = _HEIGHT.get()
    if height is None:
        return spec
    letters = {"labelFontSize": LETTERS, "titleFontSize": LETTERS}
    legend = {**letters, "labelLimit": 420, "symbolSize": 260, "symbolStrokeWidth": 4}
    config = {**spec.get("config", {}), "axis": {**letters, "labelLimit": 300, "titleLimit": 900}, "legend": legend,
              "text": {"fontSize": LETTERS}}
    return {**_larger(spec), "height": height, "config": config}


def _larger(node: Any) -> Any:
    """The same with larger marks."""
    if isinstance(node, list):
        return [_larger(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {name: {side: value * _MARKS.get(side, 1) if side in _MARKS else value for side, value in one.items()}
            if name == "mark" and isinstance(one, dict) else one if name in ("data", "datasets") else _larger(one)
            for name, one in node.items()}
