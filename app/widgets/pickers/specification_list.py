"""The list of specifications under comparison: read from the address, started from a preset, edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.choices.pair_choice import PairChoice
from app.widgets.jobs.desk import desk
from app.widgets.pickers import new_picker, pickers
from app.widgets.words import glossary
from app.widgets.words.plain_text import sentence
from engine.desk import presets
from engine.desk.language_presets import PLAIN
from engine.desk.presets import Preset
from engine.scoring import codes
from engine.scoring.scoring import Scoring

NAME, PAIR = "s", "pair"
OPENED = PairChoice(PAIR, "compare")
MANY = 16
PILLS = "compare:preset"
FIRST = "first"
"""The preset to begin with."""


def chosen(begins: bool = False) -> list[Scoring]:
    """The specifications of the address, in its order; faulty and repeated ones are left out with a message.
    begins: take the first look where nobody has chosen any yet.

    Where they are a preset of the kind of model that was chosen before, its counterpart takes their place.
    """
    if not choice.is_set(NAME) and begins:
        start(FIRST)
    scorings = choice.several(NAME, codes.decode)
    counterpart = presets.translated(scorings, pickers.problem_class())
    if counterpart:
        start(counterpart.name)
        return list(_preset(counterpart.name).scorings)
    _keep(scorings)
    return scorings


def refused(scorings: Sequence[Scoring]) -> dict[int, str]:
    """The rows of a list that the chosen model has no answer to, each with why."""
    return desk().refusals(new_picker.applied(pickers.source()), scorings)


def say_refused(why: Mapping[int, str]) -> None:
    """Says of each specification of the list that is `refused` that the model has no answer to it, and why."""
    for row, reason in why.items():
        st.warning(sentence(f"Number {row + 1} of the list is not computed. {reason}"), icon=":material/block:")


def external() -> tuple[Scoring, ...]:
    """The scores of other programs that the list holds, for pages that compare no specifications."""
    scorings = choice.several(NAME, codes.decode)
    theirs = tuple(scoring for scoring in scorings if not scoring.route.computes)
    if theirs:
        _keep(scorings)
    return theirs


def chosen_pair(scorings: Sequence[Scoring]) -> tuple[int, int]:
    """The opened pair, counted from 0; in the address it counts from 1, as on the page."""
    name = presets.matching(scorings, pickers.problem_class())
    return OPENED.chosen(len(scorings), _presets()[name].pair if name else (0, 1))


def open_pair(first: int, second: int) -> None:
    OPENED.open(first, second)


def start(name: str) -> None:
    """Replace the list by a preset."""
    preset = _preset(name)
    _keep(preset.scorings)
    open_pair(*preset.pair)


def address(name: str) -> dict[str, list[str] | str]:
    """The address parameters of a preset, for a link to the Compare page."""
    preset = _preset(name)
    return address_of(preset.scorings, preset.pair)


def _preset(name: str) -> Preset:
    """A preset by its name; where the queries lack what it reads, the one that reads no span."""
    preset, lacks = presets.preset(name, pickers.problem_class()), pickers.lacking()
    return presets.preset(PLAIN, pickers.problem_class()) if lacks.keys() & {
        scoring.behavior for scoring in preset.scorings} else preset


def address_of(scorings: Sequence[Scoring], pair: tuple[int, int]) -> dict[str, list[str] | str]:
    """The address parameters of some scorings with a pair of them opened, counted from 0."""
    first, second = pair
    return {NAME: [codes.encode(scoring) for scoring in scorings], PAIR: f"{first + 1}-{second + 1}"}


def preset_picker(scorings: Sequence[Scoring]) -> None:
    """The presets as pills; the one that is on the page is marked, with what to look for."""
    name, offered = presets.matching(scorings, pickers.problem_class()), _presets()
    st.session_state[PILLS] = name
    inputs.pills("Start from", list(offered), key=PILLS, format_func=lambda key: offered[key].title,
                 on_change=_picked, label_visibility="collapsed", wrap=True)
    if name:
        with st.container(key="wf-preset-note"):
            glossary.caption(offered[name].note)


def _presets() -> Mapping[str, Preset]:
    """Those of the chosen kind of model; where candidates are new, those that can be asked about them."""
    offered = presets.offered(pickers.problem_class())
    return {name: preset for name, preset in offered.items() if all(
        scoring.intervention.adds for scoring in preset.scorings)} if new_picker.outside() else offered


def _picked() -> None:
    if st.session_state[PILLS]:
        start(st.session_state[PILLS])


def empty(scorings: Sequence[Scoring]) -> None:
    """What stands where the heatmap will be, while there is nothing to compare."""
    with st.container(border=True):
        if scorings:
            glossary.markdown("**Add one more.** A comparison needs at least two specifications.")
        else:
            glossary.markdown(
                "**Nothing to compare yet.** Choose a preset above, or add specifications one by one. On a first "
                "visit, start here:")
        st.button("Four questions, four answers", type="primary" if not scorings else "secondary",
                  icon=":material/play_arrow:", on_click=start, args=(FIRST,))


def _keep(scorings: Sequence[Scoring]) -> None:
    choice.keep(NAME, [codes.encode(scoring) for scoring in scorings])


def add(scoring: Scoring) -> None:
    """Put one more at the end, and open it beside the first."""
    listed = _listed()
    if scoring not in listed:
        _keep([*listed, scoring])
        if listed:
            open_pair(0, len(listed))


def replace(index: int, scoring: Scoring) -> None:
    """Put another specification in the place of one."""
    listed = _listed()
    if scoring not in listed:
        listed[index] = scoring
        _keep(listed)


def move(index: int, steps: int) -> None:
    """Change the places of one and its neighbour; the opened pair stays the same two specifications."""
    order, to = list(range(len(_listed()))), index + steps
    if 0 <= to < len(order):
        order[index], order[to] = to, index
        arrange(order)


def arrange(order: Sequence[int]) -> None:
    """Put them into another order; the opened pair stays the same two specifications."""
    listed = _listed()
    _keep([listed[index] for index in order])
    open_pair(*(order.index(number) for number in _pair_of_address()))


def remove(index: int) -> None:
    """Take one out; the opened pair stays where it can."""
    listed = _listed()
    del listed[index]
    _keep(listed)
    pair = _pair_of_address()
    if index in pair or len(listed) < 2:
        choice.keep(PAIR, [])
    else:
        open_pair(*(number - (number > index) for number in pair))


def remove_scoring(scoring: Scoring) -> None:
    """Take one out by what it is."""
    if scoring in (listed := _listed()):
        remove(listed.index(scoring))


def _listed() -> list[Scoring]:
    return [codes.decode(code) for code in choice.texts(NAME)]


def _pair_of_address() -> list[int]:
    return [int(number) - 1 for number in choice.texts(PAIR, ["1-2"])[-1].split("-")]
