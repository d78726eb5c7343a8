"""What is chosen on the Poison page: the data, the queries and how many suspects; the address holds it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.widgets.choices import choice
from app.widgets.choices.selectors import slider
from app.widgets.pickers import pickers, upload
from app.widgets.words import glossary
from engine.desk import ProblemSource
from engine.desk import poison as poisons

QUERY, SUSPECTS = "wrong", "suspects"
MOST_QUERIES, MOST_SUSPECTS = 5, 500


def source() -> ProblemSource:
    """The sidebar; returns the problem of the chosen data. Raises the engine's error where they cannot be had."""
    with st.sidebar:
        name = pickers.dataset_picker((QUERY, SUSPECTS), texts=False)
        upload.show(texts=False)
        if name != poisons.PLANTED:
            st.button("Try data with a planted backdoor", key="poison:planted", icon=":material/science:",
                      on_click=_planted)
        chosen = poisons.source(name)
        glossary.caption("A network is trained on all pictures or rows at full size: averaged pixels hide a small "
                         "patch.")
        st.page_link("../pages/language_models.py", label="A language model's response", icon=":material/forum:",
                     query_params={"show": "records", "task": "conditional_backdoor", "about": "mine"},
                     help="Which training records are behind a response, with a planted backdoor to try it on.")
    return chosen


def _planted() -> None:
    choice.put("data", poisons.PLANTED)
    for name in (QUERY, SUSPECTS):
        choice.put(name, [])


def queries(mistakes: Sequence[int], clicked: Sequence[int]) -> tuple[int, ...]:
    """The chosen queries: those that were just clicked, else those of the address, else the first
    mistake."""
    if clicked:
        choice.keep(QUERY, [str(index) for index in clicked[:MOST_QUERIES]])
    named = choice.several(QUERY, choice.from_options(list(mistakes)))
    return tuple(named[:MOST_QUERIES]) or tuple(mistakes[:1])


def suspects(group: int, most: int) -> int:
    """How many of the first training examples are suspects: by default the group that stands apart, else ten."""
    largest = max(2, min(MOST_SUSPECTS, most))
    return slider(SUSPECTS, "Suspects, from the top of the ranking", min(max(group or 10, 1), largest), 1, largest,
                  width=420)
