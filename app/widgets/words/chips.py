"""Specifications as three chips, verdicts as a badge with a sentence, questions in plain English."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from typing import Final, Literal

from app.widgets.words import glossary
from engine.question.glossary import TERMS
from engine.question.specification import AXES, AXIS_NAMES, Axis
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import ANOTHER_RUN, APPROXIMATION, BOTH, MISMATCH, NO_SPECIFICATION, SAME, Verdict

_CLASSES = {SAME: "same", APPROXIMATION: "approximation", MISMATCH: "mismatch", BOTH: "both", NO_SPECIFICATION: "none",
            ANOTHER_RUN: "approximation"}


ChipAxis = Literal["B", "P", "T", "E"]
ESTIMATOR: Final = "E"


def html(scoring: Scoring, against: Scoring | None = None) -> str:
    """The chips of a scoring; beside another one, those that differ stand out."""
    return marked(scoring, None if against is None else differing([scoring, against]))


def marked(scoring: Scoring, standing_out: Collection[str] | None) -> str:
    """The chips of a scoring; those of the axes named (of B, P, T and E, the estimator) stand out."""
    compared, standing_out = standing_out is not None, standing_out or ()
    read = scoring.readout.direction if scoring.route.implies else ""
    chips = [_chip(axis, AXIS_NAMES[axis], scoring.axis(axis), axis in standing_out, compared,
                   read if axis == "B" else "") for axis in AXES]
    if not scoring.exact or ESTIMATOR in standing_out:
        chips.append(_chip(ESTIMATOR, "estimator", scoring.route.title, ESTIMATOR in standing_out, compared))
    return f'<div class="wf-chips">{"".join(chips)}</div>'


def titled(titles: Mapping[str, str], standing_out: Collection[str] | None = None) -> str:
    """Chips of a specification whose axes are given as text, by their letters (B, P, T and E); those named stand out.
    """
    names, compared = {**AXIS_NAMES, ESTIMATOR: "estimator"}, standing_out is not None
    row = "".join(_chip(axis, names[axis], title, axis in (standing_out or ()), compared)
                  for axis, title in titles.items())
    return f'<div class="wf-chips">{row}</div>'


def plain(scoring: Scoring, behavior: str = "", estimator: str = "", against: Scoring | None = None) -> str:
    """The chips of a scoring without the sizes of its steps, which say nothing of a ranking. behavior, estimator: other
    words for its own. Beside another one, those that differ stand out."""
    if not scoring.route.implies:
        return marked(scoring, None)
    return titled({"B": behavior or scoring.axis("B"), "P": scoring.axis("P"), "T": scoring.plain_axis("T"),
                   ESTIMATOR: estimator or scoring.route.title},
                  None if against is None else differing([scoring, against]))


def differing(scorings: Sequence[Scoring]) -> tuple[ChipAxis, ...]:
    """The axes on which any two of the scorings differ, the estimator as `E`."""
    axes: tuple[ChipAxis, ...] = tuple(axis for axis in AXES if any(axis in scorings[0].differing_axes(other)
                                                                    for other in scorings[1:]))
    return axes + ((ESTIMATOR,) if len({scoring.estimator for scoring in scorings}) > 1 else ())


def show(scoring: Scoring, against: Scoring | None = None) -> None:
    glossary.html(html(scoring, against))


def question(scoring: Scoring, against: Scoring | None = None) -> None:
    """The chips with the English question below them."""
    glossary.html(f'{html(scoring, against)}<div class="wf-question">{sentence(scoring, against)}</div>')


def sentence(scoring: Scoring, against: Scoring | None) -> str:
    """The question as HTML, with the words of every axis on which it differs from the other one marked."""
    return _worded(scoring.question, scoring.clause, scoring, against)


def plain_sentence(scoring: Scoring, against: Scoring | None) -> str:
    """The question without the sizes of its steps, as HTML, the words that differ from another one's marked."""
    return _worded(scoring.plain_question(), scoring.plain_clause, scoring, against)


def _worded(question: str, clause: Callable[[Axis], str], scoring: Scoring, against: Scoring | None) -> str:
    text = escape(question)
    for axis in scoring.differing_axes(against) if against is not None else ():
        words = escape(clause(axis))
        text = text.replace(words, f'<mark class="wf-mark {axis}">{words}</mark>', 1)
    return text


def verdict_badge(verdict: Verdict) -> None:
    """The verdict: its headline and its reason."""
    glossary.html(verdict_html(verdict))


def verdict_html(verdict: Verdict) -> str:
    """The verdict as HTML."""
    return (f'<div class="wf-verdict {_CLASSES[verdict.kind]}" role="note"><strong>{escape(verdict.headline)}'
            f"</strong>{code(escape(verdict.reason))}</div>")


def code(text: str) -> str:
    """HTML in which `backticks` mark code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def note(text: str) -> None:
    """A line of small print: scale, seeds, exactness. In it, `backticks` mark code."""
    glossary.html(f'<div class="wf-note wf-num">{code(escape(text))}</div>')


def _chip(letter: str, name: str, title: str, differs: bool | None, compared: bool, more: str = "") -> str:
    """more: a further sentence where a reader rests on it."""
    state = " differs" if differs else " same" if compared else ""
    label = "≈" if letter == "E" else letter
    return (f'<span class="wf-chip {letter}{state}" title="{escape(name)}: {escape(title)}. {escape(TERMS[name])}'
            f'{escape(f" {more}") if more else ""}">'
            '<b aria-hidden="true">'
            f'{label}</b><span>{escape(title)}</span></span>')
