"""How well each approximation of the open pair ranks, measured against the exact answer to its own question."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite

import streamlit as st

from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.words import chips
from engine.desk import Waiting
from engine.desk.analyses import NotMeasured, SpotCheck
from engine.desk.compared import Compared
from engine.desk.spot_check import AFFORDABLE, spot_checked

REQUESTED = "compare:spot-check"
"""The scorings whose exact answer the reader requested, whatever it costs."""


def show(compared: Compared, pair: tuple[int, int]) -> None:
    """A line for each approximation of the pair: the measure, what is waited for, or why nothing is measured."""
    for index in pair:
        scoring = compared.scorings[index]
        if scoring.exact or not scoring.route.implies:
            continue
        wanted = scoring.digest in st.session_state.get(REQUESTED, ())
        checked = spot_checked(desk(), compared, index, inf if wanted else AFFORDABLE)
        if isinstance(checked, Waiting):
            chips.note(f"Comparing the ranking by {scoring.route.title} with the exact answer to its question.")
            job_panel.watch(checked)
        else:
            chips.note(" ".join(sentences(checked)))
            _offer(checked)


def sentences(checked: SpotCheck | NotMeasured) -> tuple[str, ...]:
    """The measure, what it is over, and how the reference was computed; or why there is none."""
    if isinstance(checked, NotMeasured):
        return (checked.sentence,)
    return checked.sentence, checked.basis, checked.reference_said


def at_hand(compared: Compared, pair: tuple[int, int]) -> list[str]:
    """The sentences that need no long computation."""
    indices = [index for index in pair if not compared.scorings[index].exact and compared.scorings[index].route.implies]
    checked = [spot_checked(desk(), compared, index, 0.0) for index in indices]
    return [" ".join(sentences(one)) for one in checked if not isinstance(one, Waiting)]


def _offer(checked: SpotCheck | NotMeasured) -> None:
    """A button where the exact answer can be had and costs more than the page asks for by itself."""
    if isinstance(checked, NotMeasured) and isfinite(checked.seconds):
        st.button("Measure it anyway", key=f"spot:{checked.scoring.digest}", icon=":material/fact_check:",
                  on_click=request, args=([checked.scoring.digest],),
                  help="Computes the exact answer for some candidates.")


def request(digests: Sequence[str]) -> None:
    """Compute the exact answers to the questions of scorings, by their digests, whatever they cost."""
    st.session_state[REQUESTED] = (*st.session_state.get(REQUESTED, ()), *digests)
