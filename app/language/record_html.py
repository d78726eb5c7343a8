"""One training record as HTML: its text, with what is known of it marked and its tokens shaded."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from html import escape

import numpy as np
import pandas as pd

from app.widgets.examples import record_text
from app.widgets.words import look
from engine.desk.language import behavior_title, changed

STYLE = look.style("record")


def record_html(row: pd.Series, tokens: pd.DataFrame | None) -> str:
    """Prompt with its markers, response with the changed span underlined and every token shaded by contribution."""
    marks = json.loads(row["marks"])
    return (f'<div class="wf-record"><h5>Prompt</h5><p>{record_text.marked(row["prompt"], marks)}</p>'
            f'<h5>Response</h5><p style="margin:0">{_response(row["response"], changed(row), tokens)}</p></div>')


def query_html(query: pd.Series, tokens: pd.DataFrame) -> str:
    """A query in the same way; it has no marks."""
    return record_html(pd.Series({**query, "marks": "{}", "flags": "[]", "spans": "{}"}), tokens)


def key(shaded: bool, flagged: bool, marks: Collection[str]) -> str:
    """What the marks mean, those that occur."""
    marks_shown = []
    if "context" in marks:
        marks_shown.append(("background:color-mix(in srgb, #0072B2 22%, transparent)", "context marker"))
    if "trigger" in marks:
        marks_shown.append(("background:color-mix(in srgb, #D55E00 26%, transparent)", "trigger"))
    if shaded:
        marks_shown += [(_shade(0.8), "token supports the behavior"), (_shade(-0.8), "token opposes it")]
    if flagged:
        marks_shown.append(("text-decoration:underline wavy", "what was changed"))
    return ('<div class="wf-key">' + "".join(f'<span><span style="{style}">ab</span>{escape(text)}</span>'
                                             for style, text in marks_shown) + "</div>")


def ranks_html(ranks: pd.Series, chosen: str, n: int) -> str:
    """The rank of a record under each behavior, the chosen one in bold. ranks: behavior -> rank, of n."""
    lines = "".join(f'<div class="{"own" if name == chosen else ""}"><span>{escape(behavior_title(str(name)))}</span>'
                    f"<span>{int(rank):,}</span></div>" for name, rank in ranks.items())
    return f'<div class="wf-desk"><div><h6>Rank, of {n:,}</h6><div class="wf-ranks">{lines}</div></div></div>'


def _response(text: str, spans: Sequence[Sequence[int]], tokens: pd.DataFrame | None) -> str:
    """The response in pieces that share shade and underline."""
    shades, titles = _contributions(text, tokens)
    under = np.zeros(len(text), dtype=bool)
    for start, end in spans:
        under[start:end] = True
    pieces, start = [], 0
    for at in range(1, len(text) + 1):
        if at == len(text) or (shades[at], titles[at], under[at]) != (shades[start], titles[start], under[start]):
            pieces.append(_piece(text[start:at], shades[start], titles[start], under[start]))
            start = at
    return "".join(pieces)


def _contributions(text: str, tokens: pd.DataFrame | None) -> tuple[np.ndarray, list[str]]:
    """For every character: its token's contribution as a fraction of the largest, and that contribution in words."""
    shades, titles = np.zeros(len(text)), [""] * len(text)
    if tokens is None or tokens.empty:
        return shades, titles
    largest, at = max(float(tokens["contribution"].abs().max()), 1e-30), 0
    for piece, value in zip(tokens["text"], tokens["contribution"], strict=True):
        start = text.find(piece.strip(), at) if piece.strip() else -1
        if start < 0 or start > at + 3:
            continue  # an end-of-turn token, or a character in several tokens
        at = start + len(piece.strip())
        shades[start:at] = value / largest
        titles[start:at] = [f"{value:+.2e}"] * (at - start)
    return shades, titles


def _piece(text: str, shade: float, title: str, under: bool) -> str:
    style = _shade(shade) if abs(shade) > 0.03 else ""
    kind = ' class="changed"' if under else ""
    hint = f' title="contribution {title}"' if title else ""
    return f'<span{kind} style="{style}"{hint}>{escape(text)}</span>' if kind or style or hint else escape(text)


def _shade(strength_of: float) -> str:
    hue = "#0072B2" if strength_of > 0 else "#D55E00"
    strength = round(12 + 48 * min(1.0, abs(strength_of)))
    return f"background:color-mix(in srgb, {hue} {strength}%, transparent);border-radius:3px"
