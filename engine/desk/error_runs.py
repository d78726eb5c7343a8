"""The runs behind error curves: all points of one draw as one job, and their agreement once it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.analysis import error_curves
from engine.analysis.error_curves import ETAS, PerQuery
from engine.basics.errors import InvalidInput, StoreError
from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.jobs import job_digest
from engine.problems import Problem, ProblemSource
from engine.requests.scores import ScoresRequest
from engine.scoring.compute import check
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

SYMBOLS = {"eta": "η", "alpha": "α"}


@dataclass(frozen=True)
class ErrorRun:
    """A finished run with one draw's curves over `eta` or over `alpha`."""

    desk: Desk
    source: ProblemSource
    behaviors: tuple[str, ...]
    digest: str

    @property
    def scores(self) -> Mapping[Scoring, Scores]:
        """Everything that the run has computed; about 500 kB a scoring on digits. Raises `StoreError` for damage."""
        return self.desk.memory.cached(("error curves", self.digest), lambda: {
            one.scoring: one for one in ScoresRequest.loaded(self.desk.jobs.store.read(self.digest))})

    def eta_agreement(self) -> Mapping[tuple[str, float], PerQuery]:
        """(behavior, η) -> metric -> (m,)."""
        return self.desk.memory.cached(("error curves over eta", self.digest), lambda: {
            (behavior, eta): error_curves.agreement(*(self.scores[scoring] for scoring in
                                                      error_curves.step_pair(behavior, eta)))
            for behavior in self.behaviors for eta in ETAS})

    def alpha_agreement(self, behavior: str) -> Mapping[tuple[str, float], PerQuery]:
        """(solver, α) -> metric -> (m,)."""
        kind = self.source.kind
        return self.desk.memory.cached(("error curves over alpha", self.digest, behavior), lambda: {
            (solver, alpha): error_curves.agreement(
                self.scores[error_curves.upweighted(behavior, alpha, kind)],
                error_curves.at_alpha(self.scores[error_curves.solver_scoring(behavior, solver, kind=kind)], alpha))
            for solver in error_curves.solvers(kind) for alpha in error_curves.alphas(kind)})


def error_run(desk: Desk, source: ProblemSource, panel: str, candidates: int | None, behavior: str | None = None
              ) -> ErrorRun | Waiting:
    """The finished run with one draw's curves over `panel`, eta or alpha; else its job, which is queued if it is
    new, or what has to be ready before that.

    behavior: one that carries a user's words has a run of its own (default: that of the registered ones). Raises
    `InvalidInput` where the draw's queries lack these words.
    """
    behaviors = error_curves.series(behavior, source.kind)
    listed = error_curves.eta_scorings if panel == "eta" else error_curves.alpha_scorings
    scorings = listed(kind=source.kind, behaviors=behaviors)
    request = ScoresRequest(scorings=tuple(scorings), candidates=candidates, precision="float64", source=source)
    payload = request.payload
    run = ErrorRun(desk, source, behaviors, job_digest(request.name, payload))
    try:
        if desk.jobs.store.has(run.digest) and run.scores:
            return run
    except StoreError:  # damaged: it is set aside, and computed anew
        pass
    worded = [scoring for scoring in scorings if scoring.readout.words][:1]
    if worded and desk.jobs.find(request.name, payload) is None:
        sampled = desk.sampled(source)
        if isinstance(sampled, Waiting):
            return sampled
        _check_words(sampled.problem, worded[0], source)
    request.check_queued()
    return desk.jobs.wait(request.name, payload, _title(source, panel, candidates, worded))


def _check_words(problem: Problem, scoring: Scoring, source: ProblemSource) -> None:
    """Raises `InvalidInput` where the draw's queries lack what a user's words ask for."""
    try:
        check(problem, scoring)
    except InvalidInput as error:
        raise InvalidInput(f"With seed {source.seed}: {error}") from None


def _title(source: ProblemSource, panel: str, candidates: int | None, worded: Sequence[Scoring]) -> str:
    of = "".join(f" of the {scoring.readout.title}" for scoring in worded)
    return (f"Error curves{of} over {SYMBOLS[panel]} on {source.title}, seed {source.seed}, "
            f"{candidates} candidates")
