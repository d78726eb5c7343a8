"""What a lesson is: an idea and its set-up, a prediction, one control with one picture, a sentence to take away."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from app.learn import own, stages
from app.widgets.frame import projector
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import SampledProblem
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

SOURCE = own.SOURCE
REOPTIMISED = 80
AXIS, BELOW = re.compile(r"\[([BPT]) ([^\]]+)\]"), re.compile(r"_(\{[^}]*\}|\w)")


@dataclass(frozen=True)
class Quiz:
    """What a reader is asked. right: the index of the right option; why: shown once one is chosen."""

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
    """idea: a few sentences before the picture. setup: draws what the question is about, without its answer. show:
    draws control and picture, and returns the way on. prediction: the question before them. own: what the reader may
    choose besides; controls: the names of what `show` lets choose. height: pixels of the chart of `setup` before a
    class, of a screen of 720, less where pictures or a sentence stand below it."""

    slug: str
    title: str
    idea: str
    setup: Callable[[], None]
    show: Callable[[], PageLink]
    takeaway: str
    question: Quiz
    prediction: Quiz
    own: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    height: int = 395


def teach(lesson: Lesson, title: str) -> None:
    """The lesson on the page: the question first, and all else once its result is asked for."""
    st.subheader(title, help=glossary.hint(lesson.title))
    with st.container(key="wf-lesson-text"):
        glossary.html(f'<p class="wf-lead wf-lesson">{escape(lesson.idea)}</p>')
    if not stages.opened(lesson.slug):
        _begin(lesson)
        return
    expected(lesson)
    link = lesson.show()
    glossary.html(f'<div class="wf-takeaway" role="note"><strong>Take away</strong> {escape(lesson.takeaway)}</div>')
    ask(lesson.slug, lesson.question)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.page_link(f"../pages/{link.page}.py", label=link.label, icon=":material/arrow_forward:",
                     query_params=link.address)
        own.show(lesson.slug, lesson.own, lesson.controls)


def _begin(lesson: Lesson) -> None:
    """The set-up and the question; the question stands already where the set-up is still waited for."""
    setup = st.container(key=f"wf-lesson-setup-{lesson.slug}")
    predict(lesson)
    with st.container(key="wf-lesson-open"):
        st.button("Show the result", type="primary", icon=":material/visibility:", on_click=stages.open_,
                  args=(lesson.slug,))
    with setup:
        lesson.setup()


def predict(lesson: Lesson) -> None:
    """The question before the result; what is chosen outlives a reload."""
    question, guess = lesson.prediction, stages.predicted(lesson.slug)
    st.radio(f"What do you expect? {question.text}", range(len(question.options)),
             index=guess if guess is None or guess < len(question.options) else None,
             format_func=lambda index: question.options[index], key=stages.widget(lesson.slug),
             horizontal=projector.on(),
             on_change=stages.predict, args=(lesson.slug,), help=glossary.hint(question.text))


def expected(lesson: Lesson) -> None:
    """The right answer, after what was expected."""
    question, guess = lesson.prediction, stages.predicted(lesson.slug)
    before = "" if guess is None else ("As you expected. " if guess == question.right else
                                       f"You expected: {question.options[guess]}. ")
    st.success(f"{before}**{question.options[question.right]}.** {question.why}")


def ask(slug: str, question: Quiz) -> None:
    """The question that goes one step further; the answer is shown once the reader has chosen."""
    with st.container(border=True):
        chosen = st.radio(f"Question. {question.text}", range(len(question.options)), index=None,
                          format_func=lambda index: question.options[index], key=f"learn:answer:{slug}",
                          help=glossary.hint(question.text))
        if chosen is None:
            glossary.caption("Choose an answer, and the explanation appears.")
        elif chosen == question.right:
            st.success(f"Yes. {question.why}", icon=":material/check_circle:")
        else:
            st.info(f"Not quite: **{question.options[question.right]}** {question.why}", icon=":material/lightbulb:")


def formula(*lines: str) -> None:
    """Formulas whose terms have the colour of their axis: `[B ∇B(q)]` is blue. What stands before a colon is a name."""
    glossary.html(f'<p class="wf-formula">{"<br>".join(map(_formula, lines))}</p>')


def _formula(text: str) -> str:
    name, colon, rest = text.rpartition(": ")
    marked = AXIS.sub(r'<b class="\1">\2</b>', escape(rest))
    return (f"<span>{escape(name)}:</span> " if colon else "") + BELOW.sub(
        lambda match: f"<sub>{match[1].strip('{}')}</sub>", marked)


def problem() -> SampledProblem:
    """The problem of the lessons, trained; the page waits for it here."""
    return job_panel.ready(desk().sampled(own.source()))


def scores(*scorings: Scoring, candidates: int = REOPTIMISED) -> list[Scores]:
    """Scores of the first `candidates`; the page waits for them here."""
    source = own.source()
    return job_panel.ready(desk().scores(source, scorings, min(candidates, source.n_train or candidates)))


def side_by_side() -> tuple[AbstractContextManager, AbstractContextManager]:
    """Columns for words and for the chart beside them; before a class the whole screen is laid out so."""
    if projector.on():
        return nullcontext(), nullcontext()
    left, right = st.columns([2, 3], gap="large")
    return left, right


def aside(text: str) -> None:
    """What a reader may want to know and a class need not."""
    if not projector.on():
        glossary.caption(text)


def extras(name: str, *arguments: Any, **options: Any) -> None:
    """Table, downloads and command of a lesson's chart; on a projector nobody opens them."""
    if not projector.on():
        downloads.chart_extras(name, *arguments, **{**options, "charts": [f"learn:{name}"]})
