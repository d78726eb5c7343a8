"""The table of the Paper page: a real HTML table, so that every cell can be read aloud, with notes beside cells."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from app.widgets.frame.theme import AXIS_COLORS
from app.widgets.words import glossary
from engine.basics.values import signed

SUPERSCRIPT = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹˒")


def show(rows: pd.DataFrame, numbers: Sequence[Sequence[int]], notes: Sequence[str], judged: bool) -> None:
    """rows as `app.paper.rows.rows_of` gives them; numbers: the notes of each row, counted from 1."""
    head = ["Comparison", "The paper", "Ours", "Ours − paper", *(["Tolerance"] if judged else [])]
    body = "".join(_row(row, cited, judged) for row, cited in zip(rows.to_dict("records"), numbers, strict=True))
    names = "".join(f"<th scope=col>{name}</th>" for name in head)
    glossary.html('<div class="wf-scroll" tabindex="0" role="region" aria-label="The paper and ours">'
                  f'<table class="wf-table"><thead><tr>{names}</tr></thead>'
                  f"<tbody>{body}</tbody></table></div>{_list(notes)}")


def _row(row: dict, cited: Sequence[int], judged: bool) -> str:
    marks = "".join(f'<a href="#note-{number}" title="see note {number}">{str(number).translate(SUPERSCRIPT)}</a>'
                    for number in cited)
    second = f'<span class="wf-second">{escape(row["second"])}</span>' if row["second"] else ""
    cells = [_value(row["paper"], row["spread"]), _value(row["ours"], row["ci95"]), _signed(row["difference"])]
    if judged:
        cells.append(_within(row))
    return (f'<tr><th scope="row">{_axis(str(row.get("axis", "")))}<span>{escape(row["comparison"])}{second}</span>'
            f'<span class="wf-cites">{marks}</span></th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')


def _axis(axis: str) -> str:
    return f'<b class="wf-axis" style="background:{AXIS_COLORS[axis]}">{axis}</b>' if axis in AXIS_COLORS else ""


def _value(mean: float, half: float) -> str:
    if mean != mean:
        return '<span class="wf-quiet">not run</span>'
    spread = "" if half != half else f' <span class="wf-quiet">± {half:.3f}</span>'
    return signed(mean) + spread


def _signed(number: float) -> str:
    return "–" if number != number else signed(number, 3, "+")


def _within(row: dict) -> str:
    if row["within"] is pd.NA or row["within"] != row["within"]:
        return '<span class="wf-quiet">none set</span>'
    inside = bool(row["within"])
    return (f'<span class="wf-kept {"inside" if inside else "outside"}">{"✓ inside" if inside else "▲ outside"} '
            f'<span class="wf-quiet">± {row["tolerance"]:.2f}</span></span>')


def _list(notes: Sequence[str]) -> str:
    items = "".join(f'<li id="note-{number}">{escape(text)}</li>' for number, text in enumerate(notes, 1))
    return f'<ol class="wf-footnotes">{items}</ol>' if notes else ""
