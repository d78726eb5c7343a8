"""What a lesson is: an idea, one control with one picture, a sentence to take away, a question, a way on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from app.widgets.frame import projector
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import ProblemSource, SampledProblem, datasets, fitting
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

SOURCE = ProblemSource(dataset=datasets.FIRST, n_train=400, n_queries=60, n_test=500,
                       pool=fitting.POOL[datasets.FIRST])
REOPTIMISED = 80
ADDRESS = {"data": SOURCE.dataset, "train": str(SOURCE.n_train), "queries": str(SOURCE.n_queries),
           "candidates": str(REOPTIMISED), "seed": "0", "nseeds": "1"}
"""The address parameters under which the other pages show the problem of the lessons."""


@dataclass(frozen=True)
class Quiz:
    """What a reader is asked. right: the place of the right option; why: shown once one is chosen."""

    text: str
    options: tuple[str, ...]
    right: int
    why: str


@dataclass(frozen=True)
class PageLink:
    """The real page that shows the same choice."""

    page: str
    label: str
    address: dict[str, Any]


@dataclass(frozen=True)
class Lesson:
    """idea: a few sentences before the picture. show: draws control and picture, and returns the way on. prediction:
    what a class is asked before it sees them."""

    slug: str
    title: str
    idea: str
    show: Callable[[], PageLink]
    takeaway: str
    question: Quiz
    prediction: Quiz


def teach(lesson: Lesson, title: str) -> None:
    """The lesson on the page."""
    st.subheader(title, help=glossary.hint(lesson.title))
    with st.container(key="wf-lesson-text"):
        glossary.html(f'<p class="wf-lead wf-lesson">{escape(lesson.idea)}</p>')
    link = lesson.show()
    glossary.html(f'<div class="wf-takeaway" role="note"><strong>Take away</strong> {escape(lesson.takeaway)}</div>')
    ask(lesson.slug, lesson.question)
    st.page_link(f"../pages/{link.page}.py", label=link.label, icon=":material/arrow_forward:",
                 query_params=link.address)


def ask(slug: str, question: Quiz) -> None:
    """The question; the answer is shown once the reader has chosen."""
    with st.container(border=True):
        chosen = st.radio(f"**Question.** {question.text}", range(len(question.options)), index=None,
                          format_func=lambda index: question.options[index], key=f"learn:answer:{slug}",
                          help=glossary.hint(question.text))
        if chosen is None:
            glossary.caption("Choose an answer, and the explanation appears.")
        elif chosen == question.right:
            st.success(f"Yes. {question.why}", icon=":material/check_circle:")
        else:
            st.info(f"Not quite: **{question.options[question.right]}** {question.why}", icon=":material/lightbulb:")


def warm() -> None:
    """Have the problem of the lessons trained while a class still thinks."""
    desk().sampled(SOURCE)


def problem() -> SampledProblem:
    """The problem of the lessons, trained; the page waits for it here."""
    return job_panel.ready(desk().sampled(SOURCE))


def scores(*scorings: Scoring, candidates: int = REOPTIMISED) -> list[Scores]:
    """Scores of the first `candidates`; the page waits for them here."""
    return job_panel.ready(desk().scores(SOURCE, scorings, candidates))


def side_by_side() -> tuple[AbstractContextManager, AbstractContextManager]:
    """A place for words and one for the chart beside them; before a class the whole screen is laid out so."""
    if projector.on():
        return nullcontext(), nullcontext()
    left, right = st.columns([2, 3], gap="large")
    return left, right


def aside(text: str) -> None:
    """What a reader may want to know and a class need not."""
    if not projector.on():
        glossary.caption(text)


def extras(*arguments: Any, **options: Any) -> None:
    """Table, downloads and command of a lesson's chart; on a projector nobody opens them."""
    if not projector.on():
        downloads.chart_extras(*arguments, **options, charts=[f"learn:{arguments[0]}"])
