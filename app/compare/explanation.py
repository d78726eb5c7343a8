"""“Explain this disagreement”: the panel of the Compare page, for the pair that is opened."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import workbench
from app.compare import explanation_view
from app.compare import view as comparison_view
from app.compare.data import Compared
from app.widgets import chips, choice, downloads, job_panel
from app.workbench import Waiting, queue
from engine.analysis.explanation import Chain, Explanation, Seed, chain, measure
from engine.basics.errors import InvalidInput, WhichfluenceError
from engine.problems import ProblemSource
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

NAME = "explain"


def show(found: Compared, pair: tuple[int, int]) -> None:
    """The switch, and below it the explanation; what takes long is waited for beside the rest of the page."""
    key = choice.bound(NAME, 0, choice.from_options((0, 1)))
    st.session_state[key] = bool(st.session_state[key])
    on = st.toggle("Explain this disagreement", key=key, help="Walks from one answer to the other through exact "
                   "specifications, and says how much of the way is behavior, intervention, training process, and "
                   "approximation error.")
    choice.keep(NAME, int(on))
    if not on:
        return
    try:
        explained = explanation(found, pair)
    except WhichfluenceError as error:
        st.error(str(error), icon=":material/error:")
        return
    if isinstance(explained, Waiting):
        job_panel.watch(explained)
        return
    table = explanation_view.show(explained, "compare:way")
    chips.note(comparison_view.small_print(found, explained.left_out))
    downloads.chart_extras("explanation", table, [found.scorings[place] for place in pair], found.drawn_sources,
                           command(found.drawn_sources))


def command(sources: Sequence[ProblemSource]) -> str:
    """The commands that recompute an explanation from the downloaded specifications."""
    files = [downloads.problem_file(source, f"-{source.seed}" if len(sources) > 1 else "") for source in sources]
    given = " ".join(f"--data {file}" for file, _ in files)
    return "\n".join([*(written for _, written in files), f"python -m engine explain {given} --specs "
                      "explanation-specs.json --out explanation.json"])


def explanation(found: Compared, pair: tuple[int, int]) -> Explanation | Waiting:
    """Why a pair of the comparison disagrees, over all its seeds, or what is being waited for."""
    sides = [[seed[place] for place in pair] for seed in found.scores]
    return between(found.sources, sides, found.candidates)


def between(sources: Sequence[ProblemSource], sides: Sequence[Sequence[Scores]],
            candidates: int | None) -> Explanation | Waiting:
    """Why A and B disagree; sides: the scores of both for each source. All that is missing is asked for at once."""
    problem = workbench.drawn(sources[0])
    if isinstance(problem, Waiting):
        return problem
    a, b = (side.scoring for side in sides[0])
    way = chain(a, b, problem.problem.n, problem.problem.convex)
    live, seeds, waiting = workbench.LIVE_SECONDS[sources[0].kind] / len(sources), [], None
    for source, (first, second) in zip(sources, sides, strict=True):
        exact, reasons = _exact(source, way, candidates, live)
        if isinstance(exact, Waiting):
            waiting = waiting or exact
        else:
            seeds.append(Seed(first, second, exact, reasons))
    return waiting or measure(way, seeds)


def _exact(source: ProblemSource, way: Chain, candidates: int | None, live: float
           ) -> tuple[dict[Scoring, Scores] | Waiting, dict[Scoring, str]]:
    """The exact scores along the way; what cannot be computed is left out with its reason."""
    if not way.needed:
        return {}, {}
    together = _asked(source, way.needed, candidates, live)
    if not isinstance(together, str):
        return (together if isinstance(together, Waiting) else dict(zip(way.needed, together, strict=True))), {}
    exact, reasons, waiting = {}, {}, None
    for scoring in way.needed:
        found = _asked(source, [scoring], candidates, live)
        if isinstance(found, str):
            reasons[scoring] = found
        elif isinstance(found, Waiting):
            waiting = waiting or found
        else:
            exact[scoring] = found[0]
    return (exact, reasons) if waiting is None else (waiting, {})


def _asked(source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None,
           live: float) -> list[Scores] | Waiting | str:
    """The scores, what is being waited for, or why they cannot be had: the engine's own words, or its run's."""
    try:
        found = workbench.scores(source, scorings, candidates, live)
    except InvalidInput as error:
        return str(error)
    job = queue().get(found.job) if isinstance(found, Waiting) and found.job else None
    return job.error or "their run failed." if job is not None and job.state == "failed" else found
