"""A lesson before a class: large, without a sidebar, one screen a stage, moved on by keys."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.charts.enlarged import enlarged
from app.learn import audience, browser, own, stages
from app.learn.lesson import Lesson, PageLink, ask, expected, predict
from app.widgets.choices import choice
from app.widgets.frame import projector, theme_switch
from app.widgets.words import glossary

HEIGHT = 430
"""Pixels of a chart, of a screen of 720."""


def enter() -> None:
    """Open the mode at the step that is shown, from its first stage."""
    choice.keep(stages.NAME, stages.PREDICT)
    st.query_params[projector.NAME] = "1"


def leave() -> None:
    """Back to the page, at the same step."""
    choice.forget(stages.NAME)
    st.query_params.pop(projector.NAME, None)


def teach(steps: dict[str, Lesson], step: str, names: dict[str, str]) -> None:
    """A stage of a lesson. steps, names: all lessons and their titles, in order."""
    lesson = steps[step]
    stage = stages.current(lesson.slug)
    audience.follow(step, stage)
    st.html(projector.STYLE)
    with st.container(key=projector.KEY):
        _head(names[step], stage)
        body, foot = st.container(key="wf-classroom-body"), st.container()
        browser.listen()
        if stage == stages.PREDICT:
            _predict(lesson, body, foot, lambda: _foot(step, stage, steps, names, None))
            return
        with body, enlarged(HEIGHT, projector.scale()):
            link = None
            if stage == stages.REVEAL:
                link = _reveal(lesson)
            else:
                _take(lesson)
        with foot:
            _foot(step, stage, steps, names, link)


def _head(title: str, stage: str) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.title(title, anchor=False)
        glossary.html('<ol class="wf-stages">' + "".join(
            f"<li{' aria-current=step' if name == stage else ''}>{escape(title)}</li>"
            for name, title in stages.STAGES.items()) + "</ol>")


def _predict(lesson: Lesson, body: DeltaGenerator, foot: DeltaGenerator, end: Callable[[], None]) -> None:
    """Idea, question and the way on first: the set-up may still be waited for."""
    with body:
        glossary.html(f'<p class="wf-lead">{escape(lesson.idea)}</p>')
        setup = st.container(key="wf-classroom-setup")
        predict(lesson)
        audience.histogram(lesson)
    with foot:
        end()
    with setup, enlarged(lesson.height, projector.scale()):
        lesson.setup()


def _reveal(lesson: Lesson) -> PageLink:
    link = lesson.show()
    with st.container(key="wf-classroom-said"):
        expected(lesson)
    return link


def _take(lesson: Lesson) -> None:
    glossary.html(f'<div class="wf-takeaway" role="note"><strong>Take away</strong> {escape(lesson.takeaway)}</div>')
    ask(lesson.slug, lesson.question)


def _foot(step: str, stage: str, steps: dict[str, Lesson], names: dict[str, str], link: PageLink | None) -> None:
    before, after = stages.neighbours(step, stage, list(steps))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="wf-class-foot"):
        with st.container(key=browser.BACK, width="content"):
            st.button("Back", icon=":material/arrow_back:", disabled=before is None, on_click=stages.go,
                      args=_going(before or (step, stage), steps))
        with st.container(key=browser.ON, width="content"):
            st.button(stages.STAGES[after[1]] if after and after[0] == step else "Next lesson", type="primary",
                      icon=":material/arrow_forward:", disabled=after is None, on_click=stages.go,
                      args=_going(after or (step, stage), steps))
        with st.popover("Lessons"):
            for one, name in names.items():
                st.button(name, key=f"learn:to:{one}", type="tertiary", on_click=stages.go,
                          args=_going((one, stages.PREDICT), steps))
        audience.show(steps)
        own.show(steps[step].slug, steps[step].own, steps[step].controls)
        if link is not None:
            st.page_link(f"../pages/{link.page}.py", label="Workbench", icon=":material/open_in_new:",
                         query_params={**link.address, projector.NAME: "1"})
        st.space("stretch")
        theme_switch.show()
        with st.container(key=browser.LEAVE, width="content"):
            st.button("Leave", icon=":material/close:", on_click=leave,
                      help="Keys: → or Page Down forward, ← or Page Up back, T light or dark, F full screen, "
                           "Esc leaves.")


def _going(to: tuple[str, str], steps: dict[str, Lesson]) -> tuple[str, str, str]:
    """The arguments of `stages.go`."""
    return *to, steps[to[0]].slug
