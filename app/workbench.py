"""Between the pages and the engine: trained problems, live scores, and jobs for what takes longer.

Nothing here draws. A page asks for scores and gets them, or gets a `Waiting` that says what is going
on; `app.widgets.job_panel` shows it. Training runs in one background thread a process, so that a page never hangs.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app.training import Trainer
from app.widgets import labels
from engine import data
from engine.basics.errors import StoreError
from engine.exact.optima import training_data
from engine.jobs import JobQueue, ensure_worker
from engine.problems import DrawnProblem, ModuleProblem, ProblemSource, SoftmaxProblem
from engine.runs import scores as score_runs
from engine.runs import training as training_runs
from engine.scoring import cost
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Store, home

LIVE_SECONDS = {SoftmaxProblem.kind: 4.0, ModuleProblem.kind: 2.0}
PATIENCE_SECONDS = 1.5
CACHE_BYTES = 600 << 20


@dataclass(frozen=True)
class Waiting:
    """What a page waits for: the model of `source` in preparation (`future`), or a queued job (`job`)."""

    what: str
    future: Future | None = None
    job: str | None = None
    source: ProblemSource | None = None


class ScoreCache:
    """The most recently used scores, up to CACHE_BYTES, shared by all sessions of the server."""

    def __init__(self) -> None:
        self._scores: OrderedDict[tuple, Scores] = OrderedDict()
        self._lock = threading.Lock()
        self.computing = threading.Lock()

    def get(self, key: tuple) -> Scores | None:
        with self._lock:
            found = self._scores.get(key)
            if found is not None:
                self._scores.move_to_end(key)
            return found

    def put(self, key: tuple, scores: Scores) -> None:
        with self._lock:
            self._scores[key] = scores
            while len(self._scores) > 1 and sum(s.values.nbytes for s in self._scores.values()) > CACHE_BYTES:
                self._scores.popitem(last=False)


@st.cache_resource(show_spinner=False)
def score_cache() -> ScoreCache:
    return ScoreCache()


@st.cache_resource(show_spinner=False)
def trainer() -> Trainer:
    return Trainer(_prepare, afterwards=_factor)


def _prepare(source: ProblemSource) -> DrawnProblem:
    drawn = source.build(DEVICES[source.kind])
    drawn.problem.facts, drawn.problem.probabilities, drawn.problem.query_logits  # noqa: B018 - trains
    return drawn


DEVICES = {SoftmaxProblem.kind: "cpu", ModuleProblem.kind: "auto"}
"""Small float64 problems answer no sooner on a GPU."""


def _factor(drawn: DrawnProblem) -> None:
    """What the first re-optimisation would otherwise wait for."""
    if isinstance(drawn.problem, SoftmaxProblem) and drawn.problem.has_dense_hessian:
        training_data(drawn.problem)


def drawn(source: ProblemSource) -> DrawnProblem | Waiting:
    """The drawn and trained problem; raises the engine's own error if it cannot be had.

    A network that is not trained yet is trained by a job, which can be cancelled; softmax regression in the
    background of this process.
    """
    if not source.is_trained and (training := _training(source)):
        return training
    future = trainer().ask(source)
    with suppress(TimeoutError):
        return future.result(timeout=PATIENCE_SECONDS)
    return future.result() if future.done() else Waiting("Training the model", future=future, source=source)


def _training(source: ProblemSource) -> Waiting | None:
    """The job that trains a network; None where it is done and its weights are gone, so that they are made here."""
    job = queue().submit(training_runs.KIND, training_runs.payload(source),
                         title=f"Training {labels.model_title(source.model)} on {data.title(source.dataset)}")
    if job.state == "done":
        return None
    ensure_worker(home())
    return Waiting(job.title, job=job.id)


def candidate_count(source: ProblemSource, scorings: Sequence[Scoring], optima: int) -> int | None:
    """How many of the drawn candidates are scored: all, or `optima` where a candidate of any scoring costs much."""
    drawn_candidates = source.n_candidates or source.n_train
    if any(cost.is_slow(scoring, _parameters(source.model_dump_json())) for scoring in scorings):
        return min(optima, drawn_candidates) if drawn_candidates else optima
    return drawn_candidates


@st.cache_data(show_spinner=False, max_entries=200)
def _parameters(source: str) -> int:
    """The size of the model of a source, given as JSON."""
    return ProblemSource.model_validate_json(source).parameters()


def scores(source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None,
           live_seconds: float | None = None) -> list[Scores] | Waiting:
    """The scores of every scoring over the first `candidates` drawn candidates (None: all).

    Scores are computed at once where that takes no longer than `live_seconds` (default: LIVE_SECONDS of its kind of
    model); else a job is queued, which everybody who asks for the same shares, and a `Waiting` comes back.
    """
    live_seconds = LIVE_SECONDS[source.kind] if live_seconds is None else live_seconds
    problem = drawn(source)
    if isinstance(problem, Waiting):
        return problem
    found = _cached(source, dict.fromkeys(scorings), candidates)
    missing = [scoring for scoring in dict.fromkeys(scorings) if scoring not in found]
    if missing:
        filled = _fill(problem, source, missing, candidates, live_seconds)
        if isinstance(filled, Waiting):
            return filled
        found |= filled
    return [found[scoring] for scoring in scorings]


def _key(source: ProblemSource, scoring: Scoring, candidates: int | None) -> tuple:
    return source.model_dump_json(), scoring.digest, candidates


def _cached(source: ProblemSource, scorings: Iterable[Scoring], candidates: int | None) -> dict[Scoring, Scores]:
    known = ((scoring, score_cache().get(_key(source, scoring, candidates))) for scoring in scorings)
    return {scoring: scores for scoring, scores in known if scores is not None}


def _keep(source: ProblemSource, found: Iterable[Scores], candidates: int | None) -> dict[Scoring, Scores]:
    kept = {scores.scoring: scores for scores in found}
    for scoring, scores in kept.items():
        score_cache().put(_key(source, scoring, candidates), scores)
    return kept


def _narrowed(problem: DrawnProblem, candidates: int | None):
    whole = problem.problem
    if candidates is None or candidates >= len(whole.candidates):
        return whole
    return whole.with_candidates(whole.candidates[:candidates])


def _fill(problem: DrawnProblem, source: ProblemSource, missing: Sequence[Scoring], candidates: int | None,
          live_seconds: float) -> dict[Scoring, Scores] | Waiting:
    """The missing scores, computed here one session at a time, or what to wait for."""
    whole, count = problem.problem, len(_narrowed(problem, candidates).candidates)
    if cost.guess(missing, whole, count) > live_seconds:
        return _from_runs(source, missing, count, candidates)
    with score_cache().computing:
        found = _cached(source, missing, candidates)  # another session may have computed them meanwhile
        rest = [scoring for scoring in missing if scoring not in found]
        return found | _keep(source, compute(_narrowed(problem, candidates), rest) if rest else (), candidates)


def _from_runs(source: ProblemSource, missing: Sequence[Scoring], count: int,
               candidates: int | None) -> dict[Scoring, Scores] | Waiting:
    """The scores out of finished runs of the store; where some are in none, a run that computes them."""
    found: dict[Scoring, Scores] = {}
    for result in Store(home()).entries():
        rest = [scoring for scoring in missing if scoring not in found]
        wanted = set(rest) & set(_computed(result.manifest, source, count))
        if wanted:
            with suppress(StoreError):  # damaged: it is set aside, and computed anew
                loaded = score_runs.load(Store(home()).read(result.digest),
                                         _computed(result.manifest, source, count))
                found |= _keep(source, (scores for scores in loaded if scores.scoring in wanted), candidates)
    rest = [scoring for scoring in missing if scoring not in found]
    return _queued(source, rest, count) if rest else found


def _computed(run: Mapping[str, Any], source: ProblemSource, count: int) -> tuple[Scoring, ...]:
    """The scorings that a run computes, in its order; none where it is not a run over these candidates."""
    if run.get("kind") != score_runs.KIND:
        return ()
    payload = run["payload"]
    computed = score_runs.scorings_of(payload)
    return tuple(computed) if payload == score_runs.payload(source, computed, count) else ()


def _queued(source: ProblemSource, missing: Sequence[Scoring], count: int) -> Waiting:
    """Wait for a run under way that computes what is missing, or queue one."""
    for job in queue().jobs("queued", "running"):
        if set(missing) <= set(_computed({"kind": job.kind, "payload": job.payload}, source, count)):
            break
    else:
        title = (f"{len(missing)} specification{'s' if len(missing) > 1 else ''} on {problem_title(source)}, "
                 f"{count} candidates")
        job = queue().submit(score_runs.KIND, score_runs.payload(source, missing, count), title=title)
    ensure_worker(home())
    return Waiting(job.title, job=job.id)


def problem_title(source: ProblemSource) -> str:
    """Data and, unless it is softmax regression, the model: `CIFAR-10, convolutional network`."""
    model = "" if source.kind == SoftmaxProblem.kind else f", {labels.model_title(source.model)}"
    return f"{data.title(source.dataset)}{model}"


@st.cache_resource(show_spinner=False)
def queue() -> JobQueue:
    return JobQueue(home())


def timed(function, *arguments):
    """(result, seconds)."""
    started = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - started
