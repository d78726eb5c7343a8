"""Charts for a projector: letters and marks that are read from the last row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LETTERS = 21
"""Pixels of the letters of an enlarged chart, on a screen of 1280 × 720."""
_MARKS = {"size": 2.6, "strokeWidth": 1.7}
_SIZE: ContextVar[tuple[int, float] | None] = ContextVar("size", default=None)


@contextmanager
def enlarged(height: int, scale: float = 1.0) -> Iterator[None]:
    """Draw the charts within so many pixels high, with large letters and marks. scale: how much larger the screen is
    than 1280 × 720; a height of 0 leaves every chart its own."""
    before = _SIZE.set((height, scale))
    try:
        yield
    finally:
        _SIZE.reset(before)


def enlarging() -> bool:
    """Whether charts are enlarged now."""
    return _SIZE.get() is not None


def sized(spec: dict[str, Any]) -> dict[str, Any]:
    """A Vega-Lite specification as it is to be drawn now: itself, or enlarged."""
    size = _SIZE.get()
    if size is None:
        return spec
    height, scale = size
    pixels = round(LETTERS * scale)
    letters = {"labelFontSize": pixels, "titleFontSize": pixels}
    legend = {**letters, "labelLimit": 420 * scale, "titleLimit": 600 * scale, "symbolSize": 260 * scale**2,
              "symbolStrokeWidth": 4 * scale}
    config = {**spec.get("config", {}), "axis": {**letters, "labelLimit": 300 * scale, "titleLimit": 900 * scale},
              "legend": legend, "text": {"fontSize": pixels}}
    factors = {"size": _MARKS["size"] * scale**2, "strokeWidth": _MARKS["strokeWidth"] * scale}
    return {**_larger(spec, factors), **({"height": round(height * scale)} if height else {}), "config": config}


def _larger(node: Any, factors: dict[str, float]) -> Any:
    """The same with larger marks."""
    if isinstance(node, list):
        return [_larger(one, factors) for one in node]
    if not isinstance(node, dict):
        return node
    return {name: {side: value * factors.get(side, 1) if side in factors else value for side, value in one.items()}
            if name == "mark" and isinstance(one, dict) else one if name in ("data", "datasets")
            else _larger(one, factors) for name, one in node.items()}
