"""Candidates outside the training data, instead of the training examples: those of a file, or some tokens of texts."""

from __future__ import annotations

from typing import BinaryIO

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import pick
from app.widgets.examples import selection
from app.widgets.frame.guard import guarded, once
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.basics.errors import InvalidInput
from engine.desk import ProblemSource, datasets, fitting

NAME, TOKENS = "new", "tokens"
MARKS = {"response": "the whole response", "explanation": "the explanation", "answer": "the answer"}
TYPES = [suffix[1:] for suffix in datasets.NEW_FILES]
FORMS = ("In the format of the training data: a zip of images in folders named by class, an npz with x and y, a "
         "table "
         "with the same columns, or records as JSONL")


def chosen() -> str:
    """The name of the file in use, which is written into the address; empty where training examples are scored."""
    name = choice.one(NAME, "", _stored)
    if name:
        choice.keep(NAME, name)
    return name


def tokens() -> str:
    """The tokens of a text whose loss is scored."""
    if not datasets.holds_records(choice.one("data", fitting.first_data(), str)):
        return "response"
    return choice.one(TOKENS, "response", choice.from_options(list(MARKS)))


def outside() -> bool:
    """Whether the chosen candidates are outside the training data."""
    return bool(chosen()) or tokens() != "response"


def applied(source: ProblemSource) -> ProblemSource:
    """The problem with the chosen candidates."""
    return source.model_copy(update={"new_candidates": chosen(), "tokens": tokens()}) if outside() else source


def show(source: ProblemSource) -> None:
    """What is in use, and a place to bring others. source: the problem with what is in use."""
    with st.expander("Your own candidates outside the training data", icon=":material/playlist_add:",
                     expanded=source.outside), guarded("These candidates"):
        if datasets.holds_records(source.dataset):
            pick(TOKENS, "Scored tokens of a candidate", list(MARKS), "response", MARKS.get, help=(
                "The model is trained on all tokens of the response. With some tokens only, a candidate counts as "
                "outside the training data: its score is the effect of one more occurrence of these tokens."))
        if source.new_candidates:
            new = desk().sample(source)[1].new
            listed = ", ".join(map(plain, new[:3])) + (", …" if len(new) > 3 else "")
            glossary.caption(f"{len(new):,} new candidates ({listed}) are scored instead of the training examples. The "
                             "model was not trained on them; a score is the effect of adding one.")
            st.button("Score the training examples again", key="new:forget", on_click=_choose, args=([],))
        file = st.file_uploader(FORMS, type=TYPES, key="new:file")
        if file is not None:
            once(NAME, (file.file_id, source.dataset), lambda: _take(file, source))


def _stored(name: str) -> str:
    if not datasets.has_new(name):
        raise InvalidInput("the file of new candidates is not on this machine; upload it again.")
    return name


def _take(file: BinaryIO, source: ProblemSource) -> None:
    _choose(datasets.keep_new(file, file.name, datasets.load(source.dataset)))
    st.rerun()


def _choose(name: str | list[str]) -> None:
    """Other candidates, of which rows mean something else."""
    choice.put(NAME, name)
    for other in selection.NAMES:
        choice.put(other, [])
