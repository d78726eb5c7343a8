"""The class on its own devices, as the teacher sees it: how to join, what was answered, and the answers as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from html import escape

import segno
import streamlit as st

from app.learn.lesson import Lesson
from app.widgets.frame import visitors
from app.widgets.results import downloads
from engine.desk.analyses import Answers

EVERY = 2.0
"""Seconds between two looks at the answers."""
_SHOWN, _OPEN = "_class_shown", "learn:histogram"


def invite() -> None:
    """On the page, where the server was started for a class: how to join."""
    if visitors.code():
        left, right = st.columns([1, 5], vertical_alignment="center")
        left.html(scanned(130))
        right.info(f"A class can join at **{visitors.address().partition('/?')[0]}** with the code "
                   f"**{visitors.code()}**. *Classroom mode* begins the lesson; *Join* there shows the code in large "
                   "letters.", icon=":material/groups:")


def scanned(side: int) -> str:
    """The address with the code as a QR code (ISO/IEC 18004), so many pixels wide, for the camera of a device.

    It is black on white in both themes, with the quiet zone of four modules that readers need.
    """
    source = segno.make(visitors.address(), micro=False).svg_data_uri(border=4, light="#fff", omitsize=True)
    return f'<img src="{source}" width="{side}" height="{side}" alt="QR code of {escape(visitors.address())}">'


def follow(step: str, stage: str) -> None:
    """Have the devices of the class follow what is shown."""
    if visitors.code() and st.session_state.get(_SHOWN) != (step, stage):
        Answers().show(step, stage)
        st.session_state[_SHOWN] = step, stage


def histogram(lesson: Lesson) -> None:
    """How many have answered, and on demand what, before the result is shown."""
    if visitors.code():
        st.fragment(_histogram, run_every=EVERY)(lesson)


def _histogram(lesson: Lesson) -> None:
    options = lesson.prediction.options
    counts = Answers().counts(lesson.slug, len(options))
    if not st.toggle(f"Answers of the class: {sum(counts)}", key=_OPEN):
        return
    rows = "".join(f'<span>{escape(option)}</span><i style="width:{100 * count / max(1, *counts):.0f}%"></i>'
                   f"<b>{count}</b>" for option, count in zip(options, counts, strict=True))
    st.html(f'<div class="wf-answers" role="group" aria-label="Answers of the class">{rows}</div>')


def show(lessons: Mapping[str, Lesson]) -> None:
    """How to join, large; the answers as a file, and a new class."""
    if not visitors.code():
        return
    with st.popover("Join", icon=":material/groups:"):
        st.html(f'<div class="wf-join">{scanned(280)}<div><strong>{escape(visitors.code())}</strong><p>Scan this, or '
                f"open <b>{escape(visitors.address().partition('/?')[0])}</b> and type the code.</p></div></div>")
        with st.container(horizontal=True):
            downloads.file_button("Answers (CSV)", lambda: answers_csv(lessons), "class-answers.csv", "text/csv",
                                  "class:answers")
            st.button("Begin a new class", icon=":material/restart_alt:", on_click=_begin,
                      help="Deletes the answers of the devices that joined.")


def _begin() -> None:
    Answers().clear()
    st.session_state.pop(_SHOWN, None)  # devices follow this lesson again


def answers_csv(lessons: Mapping[str, Lesson]) -> str:
    """How many chose which option of which lesson; nobody is named, and nobody is known."""
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(["step", "lesson", "question", "option", "right", "answers"])
    for step, lesson in lessons.items():
        question = lesson.prediction
        for index, count in enumerate(Answers().counts(lesson.slug, len(question.options))):
            table.writerow([step, lesson.title, question.text, question.options[index], index == question.right, count])
    return file.getvalue()
