"""The desk: for a source and scorings, the scores, or what to wait for until they are there.

A model that is not trained is trained first, a network by a job, softmax regression in a background thread of this
process. Scores come at once where that is quick; what takes longer is a job, which everybody who asks for the same
shares. Pages, commands and agents ask the same desk.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from engine.basics import heap
from engine.data import Dataset, Sample
from engine.desk import runs
from engine.desk.jobs import Jobs
from engine.desk.language_queries import check_queries
from engine.desk.memory import BoundedMemory
from engine.desk.refusals import refusal
from engine.desk.shipped import shipped
from engine.desk.training import Trainings, problem_key
from engine.desk.waiting import Waiting
from engine.exact.reoptimize import prepare
from engine.jobs import TimeEstimate, job_digest
from engine.problems import Problem, ProblemSource, SampledProblem
from engine.requests import Answer, JobRequest, Request
from engine.requests.training import TrainingRequest
from engine.scoring import cost
from engine.scoring.compute import check, compute, refusals
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Result

PATIENCE_SECONDS = 1.5


class Desk:
    """One a process, for all its threads.

    root: the home folder of its jobs and results (default: `engine.store.results.home()`, as it is when something is
    asked).
    """

    def __init__(self, root: Path | str | None = None) -> None:
        self.memory = BoundedMemory()
        """What is cached, problems and scores alike."""
        self.jobs = Jobs(root)
        self.computing = threading.Lock()
        """Held while something is computed at once: one answer at a time, with all processors."""
        self._trainings = Trainings(self._prepare, self.memory, _factor)

    def sampled(self, source: ProblemSource) -> SampledProblem | Waiting:
        """The drawn and trained problem. Raises the engine's own error if it cannot be had."""
        if not self.holds(source) and not source.is_trained and (training := self._training(source)):
            return training
        future = self._trainings.ask(source)
        with suppress(TimeoutError):
            return future.result(timeout=PATIENCE_SECONDS)
        what = "Training the model" if source.problem_class.convex else "Loading the trained model"
        return future.result() if future.done() else Waiting(what, source=source)

    def refusals(self, source: ProblemSource, scorings: Sequence[Scoring]) -> dict[int, str]:
        """Positions of the scorings that its model has no answer to, each with why; what only the trained problem
        tells is among them while that is in memory."""
        sampled = self.memory.get(problem_key(source))
        trained = refusals(sampled.problem, scorings) if sampled else {}
        before = {row: refusal(source, scoring) for row, scoring in enumerate(scorings)}
        return dict(sorted({**trained, **{row: reason for row, reason in before.items() if reason}}.items()))

    def holds(self, source: ProblemSource) -> bool:
        """Whether the trained problem is in memory."""
        return problem_key(source) in self.memory

    def ahead(self, source: ProblemSource, needs: str = "") -> int | None:
        """How many trainings come before that of `source`, which is asked for anew; None once there is no more to
        wait for, be it what the trained problem `needs`."""
        training = self._trainings.ask(source)
        if not training.done():
            return self._trainings.ahead(source)
        if not needs or training.exception() is not None or training.result().problem.holds(needs):
            return None
        return None if self._trainings.follow(source, training.result()).done() else 0

    def sample(self, source: ProblemSource) -> tuple[Dataset, Sample]:
        """The dataset and what is drawn of it, for pictures and labels: the model need not be in memory for them."""
        sampled = self.memory.get(problem_key(source))
        if sampled is not None:
            return sampled.dataset, sampled.sample
        return self.memory.cached(("sample", source.key), source.draw)

    def candidate_count(self, source: ProblemSource, scorings: Sequence[Scoring], optima: int) -> int | None:
        """How many of the drawn candidates are scored: all, or `optima` where a candidate of any scoring costs much."""
        sampled = source.most_candidates
        parameters = self.memory.cached(("parameters", source.key), source.parameters)
        if any(cost.is_slow(scoring, parameters) for scoring in scorings):
            return min(optima, sampled) if sampled else optima
        return sampled

    def scores(self, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None,
               live_seconds: float | None = None) -> list[Scores] | Waiting:
        """The scores of every scoring over the first `candidates` drawn candidates (None: all).

        They are computed at once where that takes no longer than `live_seconds` (default: what its class of problems
        allows); else a job is queued, and a `Waiting` comes back. Raises as `compute` and `drawn` do.
        """
        scores, missing = self._in_memory(source, scorings, candidates)
        if missing:
            allowed = source.problem_class.live_seconds if live_seconds is None else live_seconds
            filled = self._fill(source, missing, candidates, allowed)
            if isinstance(filled, Waiting):
                return filled
            scores |= filled
        return [scores[scoring] for scoring in scorings]

    def at_once(self, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None,
                seconds: float) -> bool:
        """Whether all scores are in memory, or their guessed time is at most so many seconds; nothing is computed."""
        guessed = self.guessed(source, scorings, candidates)
        return guessed is not None and guessed <= seconds

    def guessed(self, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None) -> float | None:
        """Guessed seconds until all scores are there, 0 for those in memory; None while some are missing and the
        trained model is not in memory, by whose size it is guessed."""
        _, missing = self._in_memory(source, scorings, candidates)
        sampled = self.memory.get(problem_key(source))
        if not missing or sampled is None:
            return None if missing else 0.0
        guessed = cost.guess(missing, sampled.problem, len(narrowed(sampled.problem, candidates).candidates))
        return guessed + cost.preparation(missing, sampled.problem)[1]

    def at_hand(self, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None, count: int
                ) -> dict[Scoring, Scores]:
        """Those of the scores that are in memory or that runs have left, be they done or not; nothing is computed or
        queued. count: how many candidates `candidates` are."""
        scores, missing = self._in_memory(source, scorings, candidates)
        if missing:
            scores |= self._of_runs(source, missing, count, candidates)
        if missing := [one for one in scorings if one not in scores]:
            begun = runs.begun(self.jobs, source, missing, count)
            scores |= self._remember(source, begun.values(), candidates)
        return scores

    def ask(self, request: Request[Answer]) -> Answer | str | Waiting:
        """The answer to a request that is of a source: at once where that is quick, out of a finished job, or what to
        wait for. A sentence where there is none, as of a run that cannot be differentiated.

        Raises `InvalidInput` for what a worker does not know, or cannot be asked.
        """
        if type(request).quick is not Request.quick:
            sampled = self.sampled(request.origin)
            if isinstance(sampled, Waiting):
                return sampled
            if request.quick(sampled.problem):
                return self.memory.cached((request.name, job_digest(request.name, request.payload)),
                                          lambda: self._answer(request, sampled.problem))
        answer = self._stored(request)
        if answer is not None:
            return answer
        request.check_queued()
        return self.jobs.wait(request.name, request.payload, request.job_title)

    def known(self, request: JobRequest[Answer]) -> Answer | str | Waiting | None:
        """The answer of a finished job, what to wait for, or that of a run that came with the program; None where
        nobody asked for it yet. Raises `StoreError` for damage."""
        if (answer := self._stored(request)) is not None:
            return answer
        if (waiting := self.jobs.under_way(request.name, request.payload)) is not None:
            return waiting
        return self._read(request, shipped(request))

    def example(self, request: JobRequest[Answer]) -> Result | None:
        """The run that came with the program, where `known` answers out of it: nobody has asked for it here."""
        here = self.jobs.result(request.name, request.payload) or self.jobs.under_way(request.name, request.payload)
        return None if here else shipped(request)

    def start(self, request: JobRequest, title: str = "") -> Waiting:
        """Queue the job of a request, or take it up where it stopped. title: of the job (default: the request's own).
        Raises as `ask` does."""
        request.check_queued()
        job = self.jobs.take_up(request.name, request.payload, title or request.job_title)
        return Waiting(job.title, job=job.id)

    def estimate(self, request: JobRequest) -> TimeEstimate | None:
        """How long the job of a request takes on this machine; None where that cannot be said."""
        return self.jobs.queue.traces.estimate(request.name, request.payload)

    def _stored(self, request: JobRequest[Answer]) -> Answer | str | None:
        return self._read(request, self.jobs.result(request.name, request.payload))

    def _read(self, request: JobRequest[Answer], result: Result | None) -> Answer | str | None:
        if result is None:
            return None
        return self.memory.cached((request.name, result.digest), lambda: request.answered(result))

    def _answer(self, request: Request[Answer], problem: Problem) -> Answer:
        with self.computing:
            return request.run(problem)

    def _prepare(self, source: ProblemSource) -> SampledProblem:
        self.memory.make_room(source.example_bytes())
        heap.trim()
        sampled = source.build(source.problem_class.live_device)
        self.memory.make_room(sampled.problem.curvature_bytes)
        sampled.problem.prepare()
        heap.trim()
        return sampled

    def _training(self, source: ProblemSource) -> Waiting | None:
        """The job that trains a network; None where it is done and its weights are gone: they are made here then."""
        request = TrainingRequest().of(source)
        job = self.jobs.submit(request.name, request.payload, request.job_title, background=True)
        return None if job.state == "done" else Waiting(job.title, job=job.id)

    def _in_memory(self, source: ProblemSource, scorings: Iterable[Scoring], candidates: int | None
                   ) -> tuple[dict[Scoring, Scores], list[Scoring]]:
        """The scores that are in memory, and the scorings whose are not, each once."""
        cached = {scoring: self.memory.get(_key(source, scoring, candidates)) for scoring in dict.fromkeys(scorings)}
        return ({scoring: scores for scoring, scores in cached.items() if scores is not None},
                [scoring for scoring, scores in cached.items() if scores is None])

    def _remember(self, source: ProblemSource, scores: Iterable[Scores], candidates: int | None
                  ) -> dict[Scoring, Scores]:
        by_scoring = {one.scoring: one for one in scores}
        for scoring, one in by_scoring.items():
            self.memory.put(_key(source, scoring, candidates), one)
        return by_scoring

    def _fill(self, source: ProblemSource, missing: Sequence[Scoring], candidates: int | None, live_seconds: float
              ) -> dict[Scoring, Scores] | Waiting:
        """The missing scores, computed here one asker at a time, or out of finished runs, or what to wait for."""
        if source.problem_class.reads == "tokens":
            check_queries(*self.sample(source), missing)
        sampled = self.sampled(source)
        if isinstance(sampled, Waiting):
            return sampled
        for scoring in missing:
            check(sampled.problem, scoring)
        with self.memory.using(problem_key(source)):
            problem = narrowed(sampled.problem, candidates)
            count = len(problem.candidates)
            if cost.guess(missing, sampled.problem, count) > live_seconds:
                return self._from_runs(source, missing, count, candidates)
            if waiting := self._preparing(sampled, missing, live_seconds):
                return waiting
            with self.computing:
                scores, rest = self._in_memory(source, missing, candidates)  # another may have computed them meanwhile
                computed = compute(problem, rest) if rest else []
                heap.trim()
                return scores | self._remember(source, computed, candidates)

    def _preparing(self, sampled: SampledProblem, scorings: Sequence[Scoring], live_seconds: float) -> Waiting | None:
        """What these scorings have to wait for besides the training, begun; None where that is a matter of a moment."""
        needs, seconds = cost.preparation(scorings, sampled.problem)
        if not needs or seconds <= live_seconds or self._trainings.follow(sampled.source, sampled).done():
            return None
        return Waiting("Factoring the Hessian", source=sampled.source, needs=needs)

    def _of_runs(self, source: ProblemSource, scorings: Sequence[Scoring], count: int, candidates: int | None
                 ) -> dict[Scoring, Scores]:
        return self._remember(source, runs.finished(self.jobs, source, scorings, count).values(), candidates)

    def _from_runs(self, source: ProblemSource, missing: Sequence[Scoring], count: int, candidates: int | None
                   ) -> dict[Scoring, Scores] | Waiting:
        scores = self._of_runs(source, missing, count, candidates)
        rest = [scoring for scoring in missing if scoring not in scores]
        return runs.under_way(self.jobs, source, rest, count) if rest else scores


def narrowed(problem: Problem, candidates: int | None) -> Problem:
    """The problem with its first `candidates` candidates; itself where that is all of them."""
    if candidates is None or candidates >= len(problem.candidates):
        return problem
    return problem.with_candidates(problem.candidates[:candidates])


def _key(source: ProblemSource, scoring: Scoring, candidates: int | None) -> Hashable:
    return "scores", source.key, scoring.digest, candidates


def _factor(sampled: SampledProblem) -> None:
    """What the first re-optimisation would otherwise wait for."""
    prepare(sampled.problem)
    heap.trim()
