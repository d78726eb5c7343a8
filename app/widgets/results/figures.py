"""The button of every chart that saves it as a figure: for a paper, a talk, a page of one's own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.charts import figure, ink
from app.widgets.results import provenance
from app.widgets.results.downloads import file_button
from app.widgets.words import glossary

LONGEST = 80
"""Letters of a file name."""
GREEK = str.maketrans({"τ": "tau", "η": "eta", "α": "alpha", "ε": "epsilon", "λ": "lambda"})
HOW = "In the light theme, with caption, questions, data, version and command below the chart."
TURNED = "One HTML file that works offline; the figure can be rotated in it."


def offer(key: str, caption: str, spec: Callable[[], dict[str, Any]]) -> None:
    """The button of the chart `key`. spec: its Vega-Lite specification, asked for when a file is."""
    lines = _opened(key)
    with _popover(key, HOW):
        for form, (mime, write) in figure.FORMS.items():
            file_button(form.upper(), partial(_written, write, spec, caption, lines), f"{named(caption)}.{form}", mime,
                        f"figure:{key}:{form}")


def offer_turned(key: str, caption: str, drawn: Mapping[str, Any]) -> None:
    """The button of a figure of Plotly in space."""
    lines = _opened(key)
    with _popover(key, TURNED):
        file_button("HTML", partial(_turned, drawn, caption, lines), f"{named(caption)}.html", "text/html",
                    f"figure:{key}:html")


def named(caption: str) -> str:
    """The stem of a file name out of the beginning of a caption."""
    plainer = re.sub(r" \([^)]*\)|(?<=\d),(?=\d{3})", "", caption)
    text = re.split(r"[:;,] |(?<!\d)\. ", plainer, maxsplit=1)[0].translate(GREEK)
    plain = unicodedata.normalize("NFKD", text.replace("'", "").replace("’", "")).encode("ascii", "ignore").decode()
    words, stem = re.findall(r"[a-z0-9]+(?:\.[0-9]+)?", plain.lower()), ""
    for word in words:
        if len(stem) + len(word) >= LONGEST:
            break
        stem += f"-{word}" if stem else word
    return stem or "figure"


def _opened(key: str) -> provenance.Lines:
    """What will say where the chart is from: `chart_extras` knows, which comes after the chart."""
    known = provenance.known()
    known.pop(key, None)
    return lambda: known[key]() if key in known else [provenance.version()]


def _popover(key: str, text: str) -> DeltaGenerator:
    row = st.container(horizontal=True, horizontal_alignment="right", key=f"wf-figure-{key}", gap=None)
    popover = row.popover("Save figure", icon=":material/image:", type="tertiary", key=f"figure:{key}")
    with popover, glossary.folded():
        glossary.caption(text)
        return st.container(horizontal=True)


def _written(write: Callable[[dict[str, Any]], bytes], spec: Callable[[], dict[str, Any]], caption: str,
             lines: provenance.Lines) -> bytes:
    return write(figure.captioned(spec(), caption, lines()))


def _turned(drawn: Mapping[str, Any], caption: str, lines: provenance.Lines) -> str:
    from plotly import io  # only here, as it takes long

    template = io.templates["plotly_white"].to_plotly_json()
    plain = ink.light({**drawn, "layout": {**drawn["layout"], "template": template}})
    return figure.page(io.to_html(plain, full_html=False, validate=False), caption, lines())
