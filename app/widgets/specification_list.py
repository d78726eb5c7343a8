"""The list of specifications under comparison: read from the address, started from a preset, edited by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from app.widgets import chips, choice, glossary, inputs, labels, pickers, presets
from app.widgets.pair_choice import PairChoice
from app.widgets.presets import Preset
from engine.scoring import codes
from engine.scoring.scoring import Scoring

NAME, PAIR = "s", "pair"
OPENED = PairChoice(PAIR, "compare")
MANY = 12
PILLS = "compare:preset"


def chosen() -> list[Scoring]:
    """The specifications of the address, in its order; faulty and repeated ones are left out with a message.

    Where they are a preset of the kind of model that was chosen before, its counterpart takes their place.
    """
    scorings = choice.several(NAME, codes.decode)
    counterpart = presets.translated(scorings, pickers.problem_class())
    if counterpart:
        start(counterpart.name)
        return list(counterpart.scorings)
    _keep(scorings)
    return scorings


def chosen_pair(scorings: Sequence[Scoring]) -> tuple[int, int]:
    """The opened pair, counted from 0; in the address it counts from 1, as on the page."""
    name = presets.matching(scorings, pickers.problem_class())
    return OPENED.chosen(len(scorings), _presets()[name].pair if name else (0, 1))


def open_pair(first: int, second: int) -> None:
    OPENED.open(first, second)


def start(name: str) -> None:
    """Replace the list by a preset."""
    preset = presets.preset(name, pickers.problem_class())
    _keep(preset.scorings)
    open_pair(*preset.pair)


def address(name: str) -> dict[str, list[str] | str]:
    """The address parameters of a preset, for a link to the Compare page."""
    preset = presets.preset(name, pickers.problem_class())
    return address_of(preset.scorings, preset.pair)


def address_of(scorings: Sequence[Scoring], pair: tuple[int, int]) -> dict[str, list[str] | str]:
    """The address parameters of some scorings with a pair of them opened, counted from 0."""
    first, second = pair
    return {NAME: [codes.encode(scoring) for scoring in scorings], PAIR: f"{first + 1}-{second + 1}"}


def preset_picker(scorings: Sequence[Scoring]) -> None:
    """The presets as pills; the one that is on the page is marked, with what to look for."""
    name, offered = presets.matching(scorings, pickers.problem_class()), _presets()
    st.session_state[PILLS] = name
    inputs.pills("Start from", list(offered), key=PILLS, format_func=lambda key: offered[key].title,
                 on_change=_picked, help="Each replaces the list below by specifications that differ in one respect.")
    if name:
        glossary.caption(offered[name].note)


def _presets() -> Mapping[str, Preset]:
    """Those of the chosen kind of model."""
    return presets.offered(pickers.problem_class())


def _picked() -> None:
    if st.session_state[PILLS]:
        start(st.session_state[PILLS])


def rows(scorings: Sequence[Scoring]) -> None:
    """One line a specification: its number, its chips with the varying ones standing out, and a way out."""
    varying = chips.differing(scorings) if len(scorings) > 1 else None
    for place, scoring in enumerate(scorings):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False, gap="small"):
            name = labels.known_as(scoring)
            known = f'<span class="wf-known">{escape(name)}</span>' if name else ""
            glossary.html(f'<div class="wf-row"><span class="wf-number wf-num">{place + 1}</span>'
                    f"<div>{chips.marked(scoring, varying)}{known}</div></div>")
            st.button("", key=f"remove:{codes.encode(scoring)}", icon=":material/close:", type="tertiary",
                      on_click=_remove, args=(place,), help=f"Remove number {place + 1} from the comparison")


def adder(scorings: Sequence[Scoring]) -> None:
    """Pick one more specification; one that is listed already is refused."""
    asking = [scoring for scoring in scorings if scoring.route.implies]
    default = asking[-1] if asking else _presets()["first"].scorings[0]
    with st.expander("Add a specification", icon=":material/add:", expanded=len(scorings) < 2), glossary.folded():
        scoring = pickers.scoring_picker("add", default)
        if scoring is None:
            return
        chips.question(scoring)
        if scoring in scorings:
            st.warning(f"This is number {scorings.index(scoring) + 1} of the list already; change something above.",
                       icon=":material/content_copy:")
        st.button("Add to the comparison", type="primary", disabled=scoring in scorings, on_click=_add,
                  args=(scoring,), icon=":material/add:")
        if len(scorings) >= MANY:
            glossary.caption(
                f"More than {MANY} specifications make a heatmap that is hard to read, and slow to compute.")


def empty(scorings: Sequence[Scoring]) -> None:
    """What stands where the heatmap will be, while there is nothing to compare."""
    with st.container(border=True):
        if scorings:
            glossary.markdown("**One more, please.** A comparison needs at least two specifications.")
        else:
            glossary.markdown(
                "**Nothing to compare yet.** Start from one of the presets above, or add specifications one "
                "by one. If this is your first visit, take the first look:")
        st.button("Four answers to four questions", type="primary" if not scorings else "secondary",
                  icon=":material/play_arrow:", on_click=start, args=("first",))


def _keep(scorings: Sequence[Scoring]) -> None:
    choice.keep(NAME, [codes.encode(scoring) for scoring in scorings])


def _add(scoring: Scoring) -> None:
    listed = [codes.decode(code) for code in choice.texts(NAME)]
    if scoring not in listed:
        _keep([*listed, scoring])
        if listed:
            open_pair(0, len(listed))


def _remove(place: int) -> None:
    listed = [codes.decode(code) for code in choice.texts(NAME)]
    del listed[place]
    _keep(listed)
    pair = [int(number) - 1 for number in choice.texts(PAIR, ["1-2"])[-1].split("-")]
    if place in pair or len(listed) < 2:
        choice.keep(PAIR, [])
    else:
        open_pair(*(number - (number > place) for number in pair))
