"""A chart as a file for a paper or a talk: in the light theme, with its caption and where it is from below it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from typing import Any

import altair as alt
import vl_convert

from app.charts import palette

WIDTH = 640
SCALE = 2
"""Dots of a PNG for each pixel of the chart."""
LETTERS = 6.0
"""About how wide a letter of the caption is, in pixels."""
SQUARE = {"square": True}
"""`usermeta` of a chart whose two axes have one unit: its file is as wide as it is high."""
FORMS: dict[str, tuple[str, Callable[[dict[str, Any]], bytes]]] = {
    "svg": ("image/svg+xml", lambda spec: vl_convert.vegalite_to_svg(spec).encode()),
    "png": ("image/png", lambda spec: vl_convert.vegalite_to_png(spec, scale=SCALE)),
    "pdf": ("application/pdf", vl_convert.vegalite_to_pdf),
}
"""Suffix of a file -> its media type, and what writes it."""


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, without colours of its own for what the theme decides."""
    with alt.theme.enable("none"):
        return chart.to_dict(validate=False)


def light(spec: dict[str, Any], width: int = WIDTH) -> dict[str, Any]:
    """A specification with the colours of the light theme and a width, both axes of a `SQUARE` one equally long."""
    high = spec.get("height")
    width = high if spec.get("usermeta") == SQUARE and isinstance(high, int) else width
    wide = {} if "concat" in spec else {"width": width}  # its panels have widths of their own
    config = {**vega_config(), **spec.get("config", {})}
    return {**{name: value for name, value in spec.items() if name != "autosize"}, **wide, "config": config,
            "padding": {"left": 24, "right": 16, "top": 10, "bottom": 10}}  # fonts differ from one reader to the next


def captioned(spec: dict[str, Any], caption: str, provenance: Sequence[str]) -> dict[str, Any]:
    """`light` with the caption below the chart, and smaller below that where it is from, a line each."""
    shown = light(spec)
    letters = int(max(shown.get("width", WIDTH) + 140, 420) / LETTERS)
    title = {"text": textwrap.wrap(caption, letters), "subtitle": [
        line for text in provenance for line in textwrap.wrap(text, letters, subsequent_indent="   ")],
             "orient": "bottom", "anchor": "start", "frame": "bounds", "offset": 14, "fontSize": 12,
             "fontWeight": "normal", "lineHeight": 16, "color": palette.theme("light")["textColor"],
             "subtitleFontSize": 10, "subtitleColor": QUIET, "subtitleLineHeight": 14, "subtitlePadding": 6}
    return {**shown, "title": title}


def page(drawing: str, caption: str, provenance: Sequence[str]) -> str:
    """An HTML file of a drawing that is HTML itself, with the same text below it."""
    below = "".join(f"<div>{escape(line)}</div>" for line in provenance)
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(caption)}</title>\n'
            "<style>body { font: 15px/1.5 Arial, Helvetica, sans-serif; }</style>\n</head>\n<body>\n"
            f"<figure>{drawing}<figcaption><p>{escape(caption)}</p><small>{below}</small>"
            "</figcaption></figure>\n</body>\n</html>\n")


QUIET, GRID = "#4A5058", "#DDE1E6"


@cache
def vega_config() -> dict[str, Any]:
    """Vega's configuration out of the light theme: its palettes, ink and font."""
    chosen = palette.theme("light")
    return {"background": chosen["backgroundColor"], "font": "Arial, Helvetica, sans-serif",
            "range": {"category": chosen["chartCategoricalColors"], "diverging": chosen["chartDivergingColors"],
                      "ramp": chosen["chartSequentialColors"], "heatmap": chosen["chartSequentialColors"]},
            "axis": {"labelColor": QUIET, "titleColor": QUIET, "gridColor": GRID, "domainColor": GRID,
                     "tickColor": GRID, "titleFontWeight": "normal", "labelFontSize": 11, "titleFontSize": 12},
            "legend": {"labelColor": QUIET, "titleColor": QUIET, "titleFontWeight": "normal"},
            "text": {"color": chosen["textColor"]}, "view": {"stroke": None},
            "mark": {"tooltip": None, "color": chosen["chartCategoricalColors"][0]}}
