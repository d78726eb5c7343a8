"""What a device of a class sees: the question that the teacher shows, and after the result the right answer.

Nothing is computed for it, and nothing but its answer is stored.
"""

from __future__ import annotations

import streamlit as st

from app.learn import browser, stages
from app.learn.lesson import Lesson
from app.learn.panel import STEPS
from app.widgets.frame import visitors
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk.analyses import Answer, Answers

EVERY, TRIES = 3.0, 10
"""Seconds between two looks at what the teacher shows, and codes that one connection may try."""
_JOINED, _TRIED = "_joined", "_tried"


def show() -> None:
    """The way in, then the question."""
    st.title("Whichfluence", anchor=False)
    if not st.session_state.get(_JOINED) and not visitors.admits(st.query_params.get(visitors.JOIN, "")):
        _join()
        return
    st.session_state[_JOINED] = True
    st.query_params[visitors.JOIN] = visitors.code()  # so that a reload does not ask again
    st.fragment(_follow, run_every=EVERY)()
    browser.listen()


def _join() -> None:
    tried = st.session_state.get(_TRIED, 0)
    if tried >= TRIES:
        st.error("Too many wrong codes; load the page again.", icon=":material/lock:")
        return
    with st.form("join"):
        given = st.text_input("Code of the class", max_chars=12)
        sent = st.form_submit_button("Join", type="primary")
    if not sent:
        return
    if visitors.admits(given):
        st.session_state[_JOINED] = True
        st.rerun()
    st.session_state[_TRIED] = tried + 1
    st.warning("This is not the code on the screen; try again.", icon=":material/lock:")


def _follow() -> None:
    step, stage = Answers().shown() or ("", "")
    if step not in STEPS:
        st.markdown("You are in. The first question appears when the lesson begins.")
        return
    lesson = STEPS[step]
    st.subheader(lesson.title, anchor=False)
    if stage == stages.PREDICT:
        _question(lesson)
    else:
        _result(lesson)


def _question(lesson: Lesson) -> None:
    question, guess = lesson.prediction, _guess(lesson)
    with st.container(key="wf-visit"):
        st.radio(question.text, range(len(question.options)), index=guess,
                 format_func=lambda index: question.options[index], key=_widget(lesson))
    chosen = st.session_state[_widget(lesson)]
    if chosen is None:
        return
    try:
        if chosen != guess:
            Answers().keep(browser.visitor(), lesson.slug, Answer(chosen), joined=True)
    except WhichfluenceError as error:
        st.warning(sentence(error), icon=":material/groups:")
        return
    st.caption("Your answer is counted. You can change it until the result is shown.")


def _result(lesson: Lesson) -> None:
    question, guess = lesson.prediction, _guess(lesson)
    if guess is not None:
        st.markdown(f"You answered: {question.options[guess]}.")
    st.success(f"**{question.options[question.right]}.** {question.why}")
    st.markdown(lesson.takeaway)


def _guess(lesson: Lesson) -> int | None:
    return Answers().of(browser.visitor()).get(lesson.slug, Answer()).guess


def _widget(lesson: Lesson) -> str:
    return f"visit:{lesson.slug}"
