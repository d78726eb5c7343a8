"""What is chosen on the Poison page: the data, the queries and how many suspects; the address holds it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import pick, slider, text
from app.widgets.pickers import pickers, upload
from app.widgets.words import glossary, labels
from engine.desk import ProblemSource, datasets, fitting
from engine.desk import poison as poisons
from engine.desk.datasets import Record
from engine.desk.language import typed

QUERY, SUSPECTS = "wrong", "suspects"
CHOSEN = (QUERY, SUSPECTS, "prompt", "response", "answer")
PLANTED = {poisons.PLANTED: "Try images with a planted backdoor",
           poisons.PLANTED_RECORDS: "Try records with a planted trigger"}
MOST_QUERIES, MOST_SUSPECTS = 5, 500
FEW_UNKNOWN = 0.2
"""Up to which fraction of unknown words a model is the default."""
ASKED = "poison:asked"
"""Where a session holds the question whose suspects are shown."""


def source() -> ProblemSource:
    """The sidebar; returns the problem of the chosen data. Raises the engine's error where they cannot be had."""
    with st.sidebar:
        name = pickers.dataset_picker(CHOSEN)
        pickers.decided(name)
        upload.show()
        for planted, label in PLANTED.items():
            if name != planted:
                st.button(label, key=f"poison:{planted}", icon=":material/science:", on_click=_planted, args=(planted,))
        records = datasets.holds_records(name)
        if datasets.is_upload(name):
            datasets.load(name).check_classes("A search for poison")
        chosen = poisons.source(name, _model(name) if records else "")
        glossary.caption("A language model is fine-tuned on the records." if records else (
            "A network is trained on all images or rows at full size: averaged pixels hide a small patch."))
    return chosen


def _model(name: str) -> str:
    """By default the first that knows nearly all words of the records, else the first."""
    offered = fitting.offered(name)
    knowing = (model for model in offered if poisons.unknown_words(name, model) <= FEW_UNKNOWN)
    return pick("model", "Model", offered, next(knowing, offered[0]), labels.model_heading)


def _planted(name: str) -> None:
    choice.put("data", name)
    for other in CHOSEN:
        choice.put(other, [])


def record() -> Record | None:
    """A record of the reader's own; None while it has no prompt or response. Raises `InvalidInput` as `typed` does."""
    prompt = text("prompt", "Prompt", "", 110)
    response = text("response", "The wrong response", "", 68)
    answer = text("answer", "Its answer, a letter or word of the response (optional)", "")
    return typed(prompt, response, answer, "") if prompt.strip() and response.strip() else None


def queries(mistakes: Sequence[int], clicked: Sequence[int]) -> tuple[int, ...]:
    """The chosen queries: those that were just clicked, else those of the address, else the first
    mistake."""
    if clicked:
        choice.keep(QUERY, [str(index) for index in clicked[:MOST_QUERIES]])
    named = choice.several(QUERY, choice.from_options(list(mistakes)))
    return tuple(named[:MOST_QUERIES]) or tuple(mistakes[:1])


def suspects(group: int, most: int, asked: object) -> int:
    """How many of the first training examples are suspects: by default the group that stands apart, else ten. asked:
    the question; a number that was chosen for another one does not count."""
    if st.session_state.setdefault(ASKED, asked) != asked:
        st.session_state[ASKED] = asked
        choice.forget(SUSPECTS)
    largest = max(2, min(MOST_SUSPECTS, most))
    return slider(SUSPECTS, "Suspects, from the top of the ranking", min(max(group or 10, 1), largest), 1, largest,
                  width=420)
