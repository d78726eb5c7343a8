"""A lesson before a class: large, without a sidebar, one screen a stage, moved on by keys."""

from __future__ import annotations

from html import escape

import streamlit as st

from app.charts.enlarged import enlarged
from app.learn import presenter_keys, stages
from app.learn.lesson import Lesson, PageLink, ask, warm
from app.widgets.choices import choice
from app.widgets.frame import projector, theme_switch
from app.widgets.words import glossary

HEIGHT = 440
"""Pixels of a chart, of a screen of 720."""


def enter() -> None:
    """Open the mode at the step that is shown, from its first stage."""
    choice.keep(stages.NAME, stages.PREDICT)
    st.query_params[projector.NAME] = "1"


def leave() -> None:
    """Back to the page, at the same step."""
    choice.forget(stages.NAME)
    st.query_params.pop(projector.NAME, None)


def teach(lesson: Lesson, step: str, steps: list[str], names: list[str]) -> None:
    """A stage of a lesson. names: the titles of all steps."""
    stage = stages.current()
    st.html(projector.STYLE)
    with st.container(key=projector.KEY):
        _head(names[steps.index(step)], stage)
        with st.container(key="wf-classroom-body"):
            link = {stages.PREDICT: _predict, stages.REVEAL: _reveal, stages.TAKE: _take}[stage](lesson)
        _foot(step, stage, steps, names, link)
    presenter_keys.listen()


def _head(title: str, stage: str) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(title, anchor=False)
        glossary.html('<ol class="wf-stages">' + "".join(
            f"<li{' aria-current=step' if name == stage else ''}>{escape(title)}</li>"
            for name, title in stages.STAGES.items()) + "</ol>")


def _predict(lesson: Lesson) -> PageLink | None:
    warm()
    question = lesson.prediction
    glossary.html(f'<p class="wf-lead">{escape(lesson.idea)}</p>')
    with st.container(border=True):
        st.radio(f"**What do you expect?** {question.text}", range(len(question.options)),
                 index=stages.predicted(lesson.slug), format_func=lambda index: question.options[index],
                 key=f"learn:predict:{lesson.slug}", on_change=stages.predict, args=(lesson.slug,))


def _reveal(lesson: Lesson) -> PageLink:
    with enlarged(HEIGHT):
        link = lesson.show()
    question, guess = lesson.prediction, stages.predicted(lesson.slug)
    said = "" if guess is None else ("As you expected. " if guess == question.right else
                                     f"You expected: {question.options[guess]}. ")
    with st.container(key="wf-classroom-said"):
        st.success(f"{said}**{question.options[question.right]}.** {question.why}")
    return link


def _take(lesson: Lesson) -> PageLink | None:
    glossary.html(f'<div class="wf-takeaway" role="note"><strong>Take away</strong> {escape(lesson.takeaway)}</div>')
    ask(lesson.slug, lesson.question)


def _foot(step: str, stage: str, steps: list[str], names: list[str], link: PageLink | None) -> None:
    before, after = stages.neighbours(step, stage, steps)
    with st.container(horizontal=True, vertical_alignment="center", key="wf-class-foot"):
        with st.container(key=presenter_keys.BACK, width="content"):
            st.button("Back", icon=":material/arrow_back:", disabled=before is None, on_click=stages.go,
                      args=before or (step, stage))
        with st.container(key=presenter_keys.ON, width="content"):
            st.button(stages.STAGES[after[1]] if after and after[0] == step else "Next lesson", type="primary",
                      icon=":material/arrow_forward:", disabled=after is None, on_click=stages.go,
                      args=after or (step, stage))
        with st.popover("Lessons"):
            for one, name in zip(steps, names, strict=True):
                st.button(name, key=f"learn:to:{one}", type="tertiary", on_click=stages.go, args=(one, stages.PREDICT))
        if link is not None:
            st.page_link(f"../pages/{link.page}.py", label="In the workbench", icon=":material/open_in_new:",
                         query_params=link.address)
        st.space("stretch")
        theme_switch.show()
        with st.container(key=presenter_keys.LEAVE, width="content"):
            st.button("Leave", icon=":material/close:", on_click=leave,
                      help="Keys: → or Page Down on, ← or Page Up back, T light or dark, F full screen, Esc leaves.")
