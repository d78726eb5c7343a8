"""What a teacher prints: a lesson plan, the worksheet in two halves, and its solutions, each a page of A4 as PDF.

They are written from the lessons themselves, when they are asked for.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import NamedTuple

import streamlit as st

from app.learn.lesson import Lesson, Quiz
from app.widgets.results import downloads

WIDTH, HEIGHT, MARGIN, LETTERS = 595, 842, 48, 9.6
"""Points of A4, of its margin, and of its letters."""
PER_LINE = 104
"""Letters that fit on a line."""
RULE = "_" * 82
MINUTES = {"1": 4, "2": 5, "3": 4, "4": 6, "5": 4, "6": 5, "7": 4, "8": 4}
BEGIN, END = 3, 6
BEFORE = (
    "The class knows gradients, logistic or softmax regression by gradient descent, and the cross-entropy loss.",
    "Eigenvalues help with step 4. Kendall's τ is explained on the page: 1 is the same order, −1 the reversed one.",
    "A computer with a projector. Devices are optional: make run CLASS=1 shows how a class joins.")
AIM = ("Afterwards the class can state an influence question by its behavior B, intervention P and training process T, "
       "and can tell a difference of questions from an error of approximation.")


class Paragraph(NamedTuple):
    """A paragraph of a page. gap: points above it."""

    text: str
    bold: bool = False
    gap: float = 0.0
    indent: int = 0


def show(steps: Mapping[str, Lesson]) -> None:
    """The pages as downloads."""
    names, half = list(steps), (len(steps) + 1) // 2
    with st.expander("For teachers: lesson plan, worksheet, solutions", icon=":material/print:"):
        with st.container(horizontal=True):
            for title, lines in (("Lesson plan", lambda: plan(steps)),
                                 ("Worksheet 1", lambda: worksheet({name: steps[name] for name in names[:half]})),
                                 ("Worksheet 2", lambda: worksheet({name: steps[name] for name in names[half:]})),
                                 ("Solutions", lambda: solutions(steps))):
                name = title.lower().replace(" ", "-")
                downloads.file_button(f"{title} (PDF)", _writer(title, lines), f"{name}.pdf", "application/pdf",
                                      f"handout:{name}")
        st.page_link("../pages/guide.py", label="Teaching with it", icon=":material/menu_book:",
                     query_params={"guide": "teaching"})


def _writer(title: str, lines: Callable[[], list[Paragraph]]) -> Callable[[], bytes]:
    return lambda: pdf(title, lines())


def plan(steps: Mapping[str, Lesson]) -> list[Paragraph]:
    """45 minutes, with what the class should know before."""
    lines = [Paragraph("Aim", True, 6), Paragraph(AIM), Paragraph("Prerequisites", True, 8), *map(Paragraph, BEFORE),
             Paragraph(f"Course: {BEGIN + sum(MINUTES.values()) + END} minutes", True, 8),
             Paragraph(f"0–{BEGIN} min · Introduction: what influence means; the class joins.", gap=3)]
    at = BEGIN
    for step, minutes in MINUTES.items():
        lines += [Paragraph(f"{at}–{at + minutes} min · {step}. {steps[step].title}", True, 3),
                  Paragraph(f"Predict: {steps[step].prediction.text}", indent=2),
                  Paragraph(f"Take away: {steps[step].takeaway}", indent=2)]
        at += minutes
    others = " and ".join(f"“{lesson.title}”" for step, lesson in steps.items() if step not in MINUTES)
    return [*lines, Paragraph(f"{at}–{at + END} min · Wrap-up: the class compares its worksheets.", True, 5),
            Paragraph(f"If time allows: {others}.", gap=3)]


def worksheet(steps: Mapping[str, Lesson]) -> list[Paragraph]:
    """The questions, with room for an answer."""
    lines = []
    for step, lesson in steps.items():
        lines += [Paragraph(_title(step, lesson), True, 9), Paragraph(f"Before: {lesson.prediction.text}", gap=2),
                  Paragraph(_options(lesson.prediction), indent=2), Paragraph(f"After: {lesson.question.text}", gap=2),
                  Paragraph(_options(lesson.question), indent=2), Paragraph("Because: " + RULE, gap=14),
                  Paragraph(RULE + RULE[:9], gap=8)]
    return lines


def solutions(steps: Mapping[str, Lesson]) -> list[Paragraph]:
    """The right options; the reasons of the second questions."""
    lines = []
    for step, lesson in steps.items():
        before, after = lesson.prediction, lesson.question
        lines += [Paragraph(_title(step, lesson), True, 4), Paragraph(f"Before: {before.options[before.right]}."),
                  Paragraph(f"After: {after.options[after.right]}. {after.why}")]
    return lines


def _title(step: str, lesson: Lesson) -> str:
    return f"{step}. {lesson.title}" if step.isdigit() else lesson.title


def _options(question: Quiz) -> str:
    return "     ".join(f"[  ] {option}".replace(" ", "\N{NO-BREAK SPACE}") for option in question.options)


def pdf(title: str, lines: Iterable[Paragraph]) -> bytes:
    """A page of A4."""
    import vl_convert  # a large library, for a teacher's press alone

    return vl_convert.svg_to_pdf(svg(title, lines))


def svg(title: str, lines: Iterable[Paragraph]) -> str:
    """The page as SVG. Raises `ValueError` where it does not fit."""
    y, rows = MARGIN + 14.0, [_row(MARGIN, MARGIN + 8, f"Which influence? · {title}", 15, True)]
    for line in lines:
        y += line.gap
        for row in textwrap.wrap(line.text, PER_LINE - 2 * line.indent, replace_whitespace=False):
            y += LETTERS * 1.32
            rows.append(_row(MARGIN + 6 * line.indent, y, row, LETTERS, line.bold))
    if y > HEIGHT - MARGIN / 2:
        raise ValueError(f"{title} needs {y:.0f} points of {HEIGHT}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>{"".join(rows)}</svg>')


def _row(x: float, y: float, text: str, size: float, bold: bool) -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-family="Liberation Sans, Arial, sans-serif" font-size="{size}" '
            f'font-weight="{"bold" if bold else "normal"}" xml:space="preserve">{escape(text)}</text>')
