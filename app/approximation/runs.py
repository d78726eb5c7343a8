"""The runs behind the error curves: all points of one draw as one job, and their agreement once it is done."""

from __future__ import annotations

import streamlit as st

from app import workbench
from app.workbench import Waiting
from engine.analysis import error_curves as engine_curves
from engine.analysis.error_curves import ALPHAS, ETAS, PerQuery
from engine.basics.errors import StoreError
from engine.jobs import ensure_worker, job_digest
from engine.problems import ProblemSource
from engine.runs import scores as score_runs
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Store, home

SYMBOLS = {"eta": "η", "alpha": "α"}


def scorings(panel: str, kind: str) -> list[Scoring]:
    """What the curves of a panel need, on problems of a kind."""
    return engine_curves.eta_scorings() if panel == "eta" else engine_curves.alpha_scorings(kind=kind)


def run(source: ProblemSource, panel: str, candidates: int) -> str | Waiting:
    """The digest of the finished run with one draw's curves; else its job, which is queued if it is new."""
    payload = score_runs.payload(source, scorings(panel, source.kind), candidates)
    digest = job_digest(score_runs.KIND, payload)
    try:
        if Store(home()).has(digest) and scores(digest, panel, source.kind):
            return digest
    except StoreError:  # damaged: it is set aside, and computed anew
        pass
    title = (f"Error curves over {SYMBOLS[panel]} on {workbench.problem_title(source)}, seed {source.seed}, "
             f"{candidates} candidates")
    job = workbench.queue().submit(score_runs.KIND, payload, title=title)
    if job.active:
        ensure_worker(home())
    return Waiting(title, job=job.id)


@st.cache_resource(show_spinner=False, max_entries=6)
def scores(digest: str, panel: str, kind: str) -> dict[Scoring, Scores]:
    """scoring -> Scores of a finished run; about 500 kB a scoring on digits."""
    listed = scorings(panel, kind)
    return dict(zip(listed, score_runs.load(Store(home()).read(digest), listed), strict=True))


@st.cache_data(show_spinner=False, max_entries=60)
def alpha_agreement(digest: str, behavior: str, kind: str) -> dict[tuple[str, float], PerQuery]:
    """(solver, α) -> metric -> (m,) of a finished run."""
    found = scores(digest, "alpha", kind)
    return {(solver, alpha): engine_curves.agreement(
                found[engine_curves.upweighted(behavior, alpha, kind)],
                engine_curves.at_alpha(found[engine_curves.solver_scoring(behavior, solver, kind=kind)], alpha))
            for solver in engine_curves.solvers(kind) for alpha in ALPHAS}


@st.cache_data(show_spinner=False, max_entries=60)
def eta_agreement(digest: str, kind: str) -> dict[tuple[str, float], PerQuery]:
    """(behavior, η) -> metric -> (m,) of a finished run."""
    found = scores(digest, "eta", kind)
    return {(behavior, eta): engine_curves.agreement(*(found[scoring] for scoring in
                                                       engine_curves.step_pair(behavior, eta)))
            for behavior in engine_curves.differentiable() for eta in ETAS}
