"""The rows of the matrix: of a short list each with its question; of a longer one by question, each row a method with
how well it ranks and what it took."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from app.widgets.words import chips, labels
from engine.question.specification import AXES
from engine.scoring import codes
from engine.scoring.scoring import Scoring

FEW, MANY = 5, 8
"""Rows up to which every one has its own chips, and up to which the measures of a row stand beside its name."""
TITLES = {"edit": "Edit", "copy": "Copy", "up": "Move up", "down": "Move down", "remove": "Remove"}
"""What can be done to a row, by its name."""
COLUMNS = ("τ with exact", "cost")


@dataclass(frozen=True)
class MeasuredRow:
    """agreement: τ with the exact answer to the same question, or why there is none, in a word; basis: over what, in a
    sentence; cost: what the scores took."""

    agreement: str
    basis: str
    cost: str


def size(count: int) -> str:
    """The class of the table."""
    return "" if count <= FEW else " many" if count <= MANY else " most"


def head(count: int) -> str:
    """What stands above the rows."""
    if count <= FEW:
        return ""
    return ('<div class="wf-row" aria-hidden="true"><span></span><span>method</span>'
            f'<div class="wf-measured">{"".join(f"<span>{escape(name)}</span>" for name in COLUMNS)}</div></div>')


def group(scorings: Sequence[Scoring], index: int, varying: Collection[str]) -> str:
    """The question above a row that begins another one than the row before it, of a longer list; else nothing."""
    count, own = len(scorings), _axes(scorings[index])
    if count <= FEW or (index and own == _axes(scorings[index - 1])):
        return ""
    title = chips.titled(own, set(varying) - {chips.ESTIMATOR}) if scorings[index].route.implies else (
        '<span class="wf-known">Baselines, which answer no question</span>')
    return f'<tr class="wf-asks"><th colspan="{count + 1}" scope="rowgroup">{title}</th></tr>'


def header(scorings: Sequence[Scoring], index: int, name: str, varying: Collection[str] | None,
           measured: Sequence[MeasuredRow] | None) -> str:
    """The header of a row. name: of the scoring in this list, with its number."""
    scoring, count = scorings[index], len(scorings)
    known = labels.known_as(scoring)
    if count > FEW:
        text = _method(scoring, known or name.split(". ", 1)[-1], measured[index] if measured else None)
    else:
        shown = f'<span class="wf-known">{escape(known)}</span>' if known and not scoring.route.proper else ""
        text = f"<div>{chips.marked(scoring, varying)}{shown}</div>"
    return f'<div class="wf-row">{_handle(scoring, index, count)}{text}</div>'


def grouped(scorings: Sequence[Scoring]) -> list[int]:
    """The order in which those of one question stand together, each question where it stood first."""
    axes = [_axes(scoring) for scoring in scorings]
    return sorted(range(len(axes)), key=lambda index: axes.index(axes[index]))


def _axes(scoring: Scoring) -> dict[str, str]:
    return {axis: scoring.axis(axis) for axis in AXES}


def _method(scoring: Scoring, title: str, measured: MeasuredRow | None) -> str:
    route = "exact" if scoring.exact else scoring.route.short_title
    answered = "" if route.casefold() in title.casefold() else f" <small>{escape(route)}</small>"
    values = "" if measured is None else "".join(
        f'<span title="{escape(said)}">{escape(value)}</span>' for value, said in (
            (measured.agreement, f"{COLUMNS[0]}: {measured.basis}"), (measured.cost, "Cost of the scores here")))
    return f'<div class="wf-method">{escape(title)}{answered}</div><div class="wf-measured wf-num">{values}</div>'


def _handle(scoring: Scoring, index: int, count: int) -> str:
    """The number of a row, with its menu."""
    number, code = index + 1, escape(codes.encode(scoring))
    fits = {"up": index > 0, "down": index < count - 1}
    menu = "".join(f'<button type="button" data-act="{act}" data-row="{index}" data-key="{act} {code}">{title}</button>'
                   for act, title in TITLES.items() if fits.get(act, True))
    return (f'<div class="wf-handle"><span class="wf-number wf-num">{number}</span>'
            f'<details name="wf-row" data-key="menu {code}"><summary data-key="summary {code}" '
            f'aria-label="Change number {number}" title="Edit, copy, move, remove">⋯</summary>'
            f'<div class="wf-menu">{menu}</div></details></div>')
