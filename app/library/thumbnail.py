"""The small picture of an entry, as HTML: of what it holds, else the name of its kind."""

from __future__ import annotations

import base64
from collections.abc import Callable
from html import escape

from app.charts import palette
from engine.desk.shelves import Bars, Grid, Pictures, Sketch, Words


def html(sketch: Sketch | None, kind: str) -> str:
    """A picture 96 pixels wide."""
    if sketch is None:
        return f'<div class="wf-thumb wf-thumb-kind" aria-hidden="true"><span>{escape(kind)}</span></div>'
    return f'<div class="wf-thumb">{PICTURES[type(sketch)](sketch)}</div>'


def _grid(sketch: Grid) -> str:
    width = max(map(len, sketch.rows))
    cells = "".join(_cell(value, sketch) for row in sketch.rows for value in (*row, *[None] * (width - len(row))))
    return (f'<div class="wf-mini" role="img" aria-label="{escape(sketch.said)}" title="{escape(sketch.said)}" '
            f'style="grid-template-columns:repeat({width},1fr)">{cells}</div>')


def _cell(value: float | None, sketch: Grid) -> str:
    if value is None:
        return "<i></i>"
    light, dark = palette.shade(value, sketch.low, sketch.high)
    return f'<i class="wf-shade" style="--l:{light};--d:{dark}"></i>'


def _bars(sketch: Bars) -> str:
    high, low = max(0.0, *sketch.values), min(0.0, *sketch.values)
    span = (high - low) or 1.0
    bars = "".join(f'<i><b style="top:{100 * (high - max(value, 0.0)) / span:.1f}%;'
                   f'height:{max(1.0, 100 * abs(value) / span):.1f}%"></b></i>' for value in sketch.values)
    return (f'<div class="wf-bars" role="img" aria-label="{escape(sketch.said)}" title="{escape(sketch.said)}">{bars}'
            "</div>")


def _pictures(sketch: Pictures) -> str:
    images = "".join(f'<img src="data:image/png;base64,{base64.b64encode(image).decode()}" alt="" width="46" '
                     'height="46">' for image in sketch.images)
    return (f'<div class="wf-thumb-pictures" role="img" aria-label="{escape(sketch.said)}" '
            f'title="{escape(sketch.said)}">{images}</div>')


def _words(sketch: Words) -> str:
    return f"<q>{escape(sketch.text)}</q>"


PICTURES: dict[type, Callable[..., str]] = {Grid: _grid, Bars: _bars, Pictures: _pictures, Words: _words}
