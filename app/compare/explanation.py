"""“Explain this disagreement”: the panel of the Compare page, for the pair that is opened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import streamlit as st

from app.compare import explanation_view
from app.compare import panel as compare_panel
from app.widgets.choices import choice, inputs
from app.widgets.frame import ahead
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import chips
from engine.basics.errors import WhichfluenceError
from engine.desk import Desk, ProblemSource, Waiting, commands
from engine.desk.analyses import Explanation
from engine.desk.compared import Compared
from engine.desk.explained import at_once, explained
from engine.scoring.scores import Scores

NAME = "explain"
QUICK_SECONDS = 1.0


def show(compared: Compared, pair: tuple[int, int]) -> None:
    """The switch, and below it the explanation; what takes long is waited for beside the rest of the page. Until the
    reader uses the switch, it is on for the pairs that are explained at once."""
    key, said = choice.widget(NAME), choice.one(NAME, None, choice.on_off)
    st.session_state[key] = _quick(desk(), compared, pair) if said is None else said
    on = inputs.toggle("Explain this disagreement", key=key, on_change=_switched, help=(
        "Changes one axis at a time between the two answers, through exact intermediate specifications, and "
        "attributes the difference to behavior, intervention, training process and approximation error. On by default "
        "if it takes only a few seconds."))
    if not on:
        return
    why = job_panel.beside(explanation(compared, pair))
    if why is None:
        return
    table = explanation_view.show(why, "compare:way")
    chips.note(compare_panel.small_print(compared, why.lost))
    downloads.chart_extras("explanation", table, [compared.scorings[index] for index in pair], compared.ranked_sources,
                           command(compared.ranked_sources), charts=["compare:way", "compare:way:shares"])


def prepare(compared: Compared, pair: tuple[int, int]) -> None:
    """Have the other pairs that are explained at once explained ahead, those in the row of the opened one first."""
    others = [other for other in combinations(range(len(compared.scorings)), 2) if other != pair]
    others.sort(key=lambda other: not set(other) & set(pair))
    own = desk()  # here, since the thread has no session to ask for it
    ahead.ask(("explanations", *compared.key), [partial(_ahead, own, compared, other) for other in others])


def _ahead(own: Desk, compared: Compared, pair: tuple[int, int]) -> None:
    if _quick(own, compared, pair):
        explained(own, compared.sources, _sides(compared, pair), compared.candidates, (*compared.key, *pair))


def _switched() -> None:
    choice.keep(NAME, int(st.session_state[choice.widget(NAME)]))


def _quick(own: Desk, compared: Compared, pair: tuple[int, int]) -> bool:
    """Whether a pair is explained at once; what cannot be explained is not, and says so where it is asked for."""
    try:
        return at_once(own, compared.sources, _sides(compared, pair), compared.candidates, QUICK_SECONDS)
    except WhichfluenceError:
        return False


def _sides(compared: Compared, pair: tuple[int, int]) -> list[list[Scores]]:
    return [[seed[index] for index in pair] for seed in compared.scores]


def command(sources: Sequence[ProblemSource]) -> str:
    """The commands that recompute an explanation from the downloaded specifications."""
    files = [commands.problem_file(source, f"-{source.seed}" if len(sources) > 1 else "") for source in sources]
    given = " ".join(f"--data {file}" for file, _ in files)
    return "\n".join([*(written for _, written in files), f"python -m engine explain {given} --specs "
                      "explanation-specs.json --out explanation.json"])


def explanation(compared: Compared, pair: tuple[int, int]) -> Explanation | Waiting:
    """Why a pair of the comparison disagrees, over all its seeds, or what is being waited for."""
    return explained(desk(), compared.sources, _sides(compared, pair), compared.candidates, (*compared.key, *pair))
