"""The list of specifications by hand: a dialog to write one, and the keyed twin of the menus in the matrix."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app.compare import external_form, preview, rows, search
from app.widgets.choices import inputs
from app.widgets.pickers import pickers, specification_list
from app.widgets.words import glossary
from engine.desk import presets
from engine.scoring.scoring import Scoring

OPEN = "compare:editing"
ADD, COPY, EDIT = "add", "copy", "edit"
WHICH = "compare:which"


def begin(how: str, index: int = 0) -> None:
    """Open the dialog: to add a specification, where it was left, to copy one, or to edit it."""
    search.begin(search.last() if how == ADD else "")
    st.session_state[OPEN] = how, index


def acts() -> dict:
    """What the menu of a row does, by its name."""
    return {"edit": lambda index: begin(EDIT, index), "copy": lambda index: begin(COPY, index),
            "up": lambda index: specification_list.move(index, -1),
            "down": lambda index: specification_list.move(index, 1), "remove": specification_list.remove}


def toolbar(scorings: Sequence[Scoring], names: Sequence[str]) -> None:
    """Add one, and a form that does what the menus of the rows do."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Add a specification", icon=":material/add:", key="compare:add", on_click=begin, args=(ADD,))
        if scorings:
            with st.popover("Change the list", icon=":material/reorder:"):
                _form(names)
                order = rows.grouped(scorings)
                st.button("Group by question", key="compare:group", on_click=specification_list.arrange, args=(order,),
                          disabled=order == sorted(order), width="stretch")
    if len(scorings) > specification_list.MANY:
        st.warning(f"{len(scorings)} specifications make a large heatmap; {specification_list.MANY} or fewer are "
                   "readable.", icon=":material/grid_on:")


def _form(names: Sequence[str]) -> None:
    if st.session_state.get(WHICH) not in range(len(names)):
        st.session_state[WHICH] = 0
    index = inputs.selectbox("Specification", range(len(names)), key=WHICH, format_func=names.__getitem__,
                             help=glossary.hint("Specification"))
    fits = {"up": index > 0, "down": index < len(names) - 1}
    for act, does in acts().items():
        st.button(rows.TITLES[act], key=f"compare:row:{act}", on_click=does, args=(index,),
                  disabled=not fits.get(act, True), width="stretch")


def show(scorings: Sequence[Scoring]) -> None:
    """The dialog, where it is open."""
    how, index = st.session_state.get(OPEN) or (None, 0)
    if how is not None and (how == ADD or index < len(scorings)):
        _dialog(scorings, how, index)


def _close() -> None:
    st.session_state.pop(OPEN, None)


@st.dialog("Specification", width="large", on_dismiss=_close)
def _dialog(scorings: Sequence[Scoring], how: str, index: int) -> None:
    asking = [scoring for scoring in scorings if scoring.route.implies and scoring.route.computes]
    if how == ADD and search.box():
        return
    default = search.base() or (scorings[index] if how != ADD else asking[-1] if asking else
                                presets.preset(specification_list.FIRST, pickers.problem_class()).scorings[0])
    if how != ADD:
        glossary.caption(f"Instead of number {index + 1}:" if how == EDIT else
                         f"A copy of number {index + 1}; change the axis that should differ:")
    above = st.container()
    scoring = (pickers.scoring_picker(ADD, default) if default.route.computes else
               external_form.edited(default, scorings, pickers.source()))
    if scoring is None:
        return
    with above:
        preview.show(scoring, scorings)
    if how == ADD:
        search.held(scoring)
    known = scorings.index(scoring) if scoring in scorings else None
    if known is not None and not (how == EDIT and known == index):
        st.info(f"This is already number {known + 1} in the list; change an axis above.",
                icon=":material/content_copy:")
    if how == EDIT:
        done = st.button(f"Replace number {index + 1}", type="primary", disabled=known is not None, key="compare:done",
                         on_click=_done, args=(EDIT, index, scoring))
    else:
        done = st.button("Add to the comparison", type="primary", disabled=known is not None, icon=":material/add:",
                         key="compare:done", on_click=_done, args=(how, index, scoring))
    if len(scorings) >= specification_list.MANY and how != EDIT:
        glossary.caption(f"More than {specification_list.MANY} specifications make a matrix that is hard to read and "
                         "takes long to compute.")
    if done:
        st.rerun()


def _done(how: str, index: int, scoring: Scoring) -> None:
    if how == EDIT:
        specification_list.replace(index, scoring)
    else:
        specification_list.add(scoring)
    _close()
