"""The matrix of the Compare page: a row a specification, its chips as the header with a menu, a cell each pair.

A table of the page itself, so that every cell is a button: the arrow keys move between cells, and a screen reader hears
both specifications, the value and the verdict. What is pressed reaches `specification_list`, whose keyed widgets
(`app.compare.editor`) do the same without a pointer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from app.charts import palette
from app.compare import editor, rows
from app.compare.rows import MeasuredRow
from app.widgets.pickers import specification_list
from app.widgets.words import chips, look
from engine.basics.values import signed
from engine.metrics.agreement import METRICS
from engine.scoring import codes
from engine.scoring.scoring import Scoring

KEY = "compare:grid"
_SCRIPT = look.text("matrix.js")
_mounted = st.components.v2.component("whichfluence_matrix", js=_SCRIPT, isolate_styles=False,
                                      html='<div class="wf-matrix-place"></div>')


def show(scorings: Sequence[Scoring], names: Sequence[str], cells: pd.DataFrame | None = None, metric: str = "",
         chance: float = 0.0, pair: tuple[int, int] | None = None, measured: Sequence[MeasuredRow] | None = None
         ) -> None:
    """Draw the list, with `cells` as `app.compare.data.matrix` gives them once they are there, and
    `app.compare.noise_floor` marks them. measured: what stands beside the methods of a longer list.

    Until the browser has the script that draws it, about its height is kept free.
    """
    content = html(scorings, names, cells, metric, chance, pair, measured)
    listed = _digest(scorings)
    with st.container(key=f"wf-rows-{len(scorings)}"):
        _mounted(key=KEY, data={"html": content, "list": listed}, on_act_change=lambda: _take(listed, len(scorings)))


def _take(listed: str, count: int) -> None:
    """Do what was pressed, unless the list is another one by now."""
    pressed: Mapping[str, Any] = (st.session_state.get(KEY) or {}).get("act") or {}
    row, column, act = (pressed.get(name, -1) for name in ("row", "column", "act"))
    if pressed.get("list") != listed or not all(isinstance(at, int) and 0 <= at < count for at in (row, column)):
        return
    if act == "open" and row != column:
        specification_list.open_pair(min(row, column), max(row, column))
    elif act in rows.TITLES:
        editor.acts()[act](row)


def _digest(scorings: Sequence[Scoring]) -> str:
    return hashlib.sha256("\n".join(map(codes.encode, scorings)).encode()).hexdigest()[:16]


def html(scorings: Sequence[Scoring], names: Sequence[str], cells: pd.DataFrame | None, metric: str, chance: float,
         pair: tuple[int, int] | None, measured: Sequence[MeasuredRow] | None = None) -> str:
    """The table; every text in it is escaped."""
    count = len(scorings)
    varying = chips.differing(scorings) if count > 1 else None
    empty = "".join(map(_empty, range(count))) if count > 1 else ""
    numbers = "".join(f'<th scope="col" title="{escape(name)}">{index + 1}</th>' for index, name in enumerate(names))
    head = f"<thead><tr><td>{rows.head(count)}</td>{numbers}</tr></thead>" if count > 1 else ""
    by_row = {} if cells is None else dict(tuple(cells.groupby("row")))
    body = "".join(
        rows.group(scorings, index, varying or ())
        + f'<tr><th scope="row">{rows.header(scorings, index, name, varying, measured)}</th>'
        + (empty if cells is None else
           "".join(_cell(cell, metric, pair) for cell in by_row[index].itertuples())) + "</tr>"
        for index, name in enumerate(names))
    title = escape(f"{METRICS[metric].title} between the specifications" if metric else "The specifications")
    return (f'<table class="wf-matrix{rows.size(count)}" aria-label="{title}">{head}<tbody>{body}</tbody></table>'
            + ("" if cells is None else _scale(metric, chance) + _sheet(cells, pair)))


def _empty(column: int) -> str:
    return f'<td class="wf-diagonal" aria-hidden="true">{_column(column)}</td>'


def _column(column: int) -> str:
    """The number of a column in a cell of its own, for a narrow screen, on which no head stands above it."""
    return f'<small class="wf-column-number" aria-hidden="true">{column + 1}</small>'


def _cell(cell: Any, metric: str, pair: tuple[int, int] | None) -> str:
    if cell.row == cell.column:
        return _empty(cell.column)
    few = " few" if cell.few else ""
    label = f"{cell.first} and {cell.second}: {METRICS[metric].title} {cell.agreement}. {cell.verdict}"
    label += f". {cell.floor_words}" if cell.floor_words else ""
    floor = f'<small class="wf-floor">{escape(cell.floor)}</small>' if cell.floor else ""
    first = (cell.row, cell.column) == (pair or (0, 1))
    return (f'<td><button type="button" class="wf-cell{few}" data-act="open" data-row="{cell.row}" '
            f'data-column="{cell.column}" data-key="{cell.row} {cell.column}" tabindex="{0 if first else -1}" '
            f'aria-pressed="{str(cell.chosen).lower()}" aria-label="{escape(label)}" title="{escape(label)}" '
            f'style="{shading(cell.mean, metric)}">{_column(cell.column)}{escape(cell.value)}{floor}</button></td>')


def shading(mean: float, metric: str) -> str:
    """The style of the fill of a cell and of the ink on it, in both themes; NaN has none."""
    if mean != mean:
        return "--l:transparent;--d:transparent"
    light, dark = palette.shade(mean, *METRICS[metric].range)
    return f"--l:{light};--d:{dark};color:light-dark({palette.ink(light)},{palette.ink(dark)})"


def _scale(metric: str, chance: float) -> str:
    """What the colours say: both ends, the middle, and chance."""
    low, high = METRICS[metric].range
    ticks = sorted([tick for tick in (low, (low + high) / 2, high) if abs(tick - chance) > 0.1] + [chance])
    keys = []
    for tick in ticks:
        light, dark = palette.shade(tick, low, high)
        word = f"{signed(tick, 2)} chance" if tick == chance else signed(tick, 1)
        keys.append(f'<span class="wf-key"><i class="wf-shade" style="--l:{light};--d:{dark}"></i>{word}</span>')
    return f'<div class="wf-keys wf-num">{escape(METRICS[metric].title)}: {"".join(keys)}</div>'


def _sheet(cells: pd.DataFrame, pair: tuple[int, int] | None) -> str:
    """On a phone: the verdict on the open pair, at hand while the matrix is in view."""
    if pair is None:
        return ""
    cell = cells[(cells.row == pair[0]) & (cells.column == pair[1])].iloc[0]
    return (f'<button type="button" class="wf-sheet" data-go=".st-key-wf-dock" aria-label="Go to the verdict: '
            f'{escape(cell.verdict)}"><strong>{escape(cell.verdict)}</strong><span>{escape(cell["first"])} · '
            f'{escape(cell.second)} · {escape(cell.value)}</span></button>')
