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
from typing import Any

from engine import data
from engine.basics import heap
from engine.data import Dataset, Sample
from engine.desk import runs
from engine.desk.answering import answer, narrowed
from engine.desk.jobs import Jobs
from engine.desk.memory import Memory
from engine.desk.titles import problem_title
from engine.desk.training import Trainings, problem_key
from engine.desk.waiting import Waiting
from engine.exact.reoptimize import prepare
from engine.jobs import job_digest
from engine.models.catalogue import model_title
from engine.problems import DrawnProblem, Problem, ProblemSource
from engine.requests import Answer, Request, check_queued
from engine.requests.job import answer_of
from engine.runs import training as training_runs
from engine.scoring import cost
from engine.scoring.compute import check
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

PATIENCE_SECONDS = 1.5


class Desk:
    """One a process, for all its threads.

    memory: what it keeps, problems and scores alike. root: the home folder of its jobs and results (default:
    `engine.store.results.home()`, as it is when something is asked).
    """

    def __init__(self, memory: Memory | None = None, root: Path | str | None = None) -> None:
        self.memory = Memory() if memory is None else memory
        self.jobs = Jobs(root)
        self.computing = threading.Lock()
        """Held while something is computed at once: one answer at a time, with all processors."""
        self._trainings = Trainings(self._prepare, self.memory, _factor)

    def drawn(self, source: ProblemSource) -> DrawnProblem | Waiting:
        """The drawn and trained problem. Raises the engine's own error if it cannot be had."""
        if problem_key(source) not in self.memory and not source.is_trained and (training := self._training(source)):
            return training
        future = self._trainings.ask(source)
        with suppress(TimeoutError):
            return future.result(timeout=PATIENCE_SECONDS)
        return future.result() if future.done() else Waiting("Training the model", source=source)

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
        drawn = self.memory.get(problem_key(source))
        if drawn is not None:
            return drawn.dataset, drawn.sample
        return self.memory.kept(("sample", source.key), source.draw)

    def candidate_count(self, source: ProblemSource, scorings: Sequence[Scoring], optima: int) -> int | None:
        """How many of the drawn candidates are scored: all, or `optima` where a candidate of any scoring costs much."""
        drawn = source.n_candidates or source.n_train
        parameters = self.memory.kept(("parameters", source.key), source.parameters)
        if any(cost.is_slow(scoring, parameters) for scoring in scorings):
            return min(optima, drawn) if drawn else optima
        return drawn

    def scores(self, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None,
               live_seconds: float | None = None) -> list[Scores] | Waiting:
        """The scores of every scoring over the first `candidates` drawn candidates (None: all).

        They are computed at once where that takes no longer than `live_seconds` (default: what its class of problems
        allows); else a job is queued, and a `Waiting` comes back. Raises as `answer` and `drawn` do.
        """
        found = self._kept(source, dict.fromkeys(scorings), candidates)
        missing = [scoring for scoring in dict.fromkeys(scorings) if scoring not in found]
        if missing:
            allowed = source.problem_class.live_seconds if live_seconds is None else live_seconds
            filled = self._fill(source, missing, candidates, allowed)
            if isinstance(filled, Waiting):
                return filled
            found |= filled
        return [found[scoring] for scoring in scorings]

    def at_once(self, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None,
                seconds: float) -> bool:
        """Whether all scores are in memory, or their guessed time is at most so many seconds; nothing is computed."""
        found = self._kept(source, dict.fromkeys(scorings), candidates)
        missing = [scoring for scoring in dict.fromkeys(scorings) if scoring not in found]
        drawn = self.memory.get(problem_key(source))
        if not missing or drawn is None:
            return not missing
        guessed = cost.guess(missing, drawn.problem, len(narrowed(drawn.problem, candidates).candidates))
        return guessed + cost.preparation(missing, drawn.problem)[1] <= seconds

    def at_hand(self, source: ProblemSource, scorings: Sequence[Scoring], candidates: int | None, count: int
                ) -> dict[Scoring, Scores]:
        """Those of the scores that are in memory or that finished runs hold; nothing is computed or queued. count: how
        many candidates `candidates` are."""
        found = self._kept(source, dict.fromkeys(scorings), candidates)
        missing = [scoring for scoring in dict.fromkeys(scorings) if scoring not in found]
        if not missing:
            return found
        return found | self._keep(source, runs.finished(self.jobs, source, missing, count).values(), candidates)

    def ask(self, source: ProblemSource, request: Request[Answer]) -> Answer | str | Waiting:
        """The answer to a request: at once where that is quick, out of a finished job, or what to wait for. A sentence
        where there is none, as of a run that cannot be differentiated.

        Raises `InvalidInput` for what a worker does not know, or cannot be asked.
        """
        asked = request.of(source)
        if type(asked).quick is not Request.quick:
            drawn = self.drawn(source)
            if isinstance(drawn, Waiting):
                return drawn
            if asked.quick(drawn.problem):
                return self.memory.kept((asked.name, job_digest(asked.name, asked.payload(source))),
                                        lambda: self._answer(asked, drawn.problem))
        answer = self._stored(source, asked)
        if answer is not None:
            return answer
        check_queued(asked.computed)
        return self.jobs.wait(asked.name, asked.payload(source), asked.title(problem_title(source)))

    def known(self, source: ProblemSource, request: Request[Answer]) -> Answer | str | Waiting | None:
        """The answer of a finished job, what to wait for, or None where nobody asked for it yet."""
        asked = request.of(source)
        answer = self._stored(source, asked)
        return self.jobs.under_way(asked.name, asked.payload(source)) if answer is None else answer

    def start(self, source: ProblemSource, request: Request[Any]) -> Waiting:
        """Queue the job of a request, or take it up where it stopped. Raises as `ask` does."""
        asked = request.of(source)
        check_queued(asked.computed)
        job = self.jobs.take_up(asked.name, asked.payload(source), asked.title(problem_title(source)))
        return Waiting(job.title, job=job.id)

    def _stored(self, source: ProblemSource, asked: Request[Answer]) -> Answer | str | None:
        result = self.jobs.result(asked.name, asked.payload(source))
        if result is None:
            return None
        return self.memory.kept((asked.name, result.digest), lambda: answer_of(asked, result))

    def _answer(self, request: Request[Answer], problem: Problem) -> Answer:
        with self.computing:
            return request.run(problem)

    def _prepare(self, source: ProblemSource) -> DrawnProblem:
        self.memory.make_room(source.example_bytes())
        heap.trim()
        drawn = source.build(source.problem_class.live_device)
        self.memory.make_room(drawn.problem.curvature_bytes)
        drawn.problem.prepare()
        heap.trim()
        return drawn

    def _training(self, source: ProblemSource) -> Waiting | None:
        """The job that trains a network; None where it is done and its weights are gone: they are made here then."""
        job = self.jobs.submit(training_runs.KIND, training_runs.payload(source),
                               title=f"Training {model_title(source.model)} on {data.title(source.dataset)}")
        return None if job.state == "done" else Waiting(job.title, job=job.id)

    def _kept(self, source: ProblemSource, scorings: Iterable[Scoring], candidates: int | None
              ) -> dict[Scoring, Scores]:
        known = ((scoring, self.memory.get(_key(source, scoring, candidates))) for scoring in scorings)
        return {scoring: scores for scoring, scores in known if scores is not None}

    def _keep(self, source: ProblemSource, found: Iterable[Scores], candidates: int | None) -> dict[Scoring, Scores]:
        kept = {scores.scoring: scores for scores in found}
        for scoring, scores in kept.items():
            self.memory.put(_key(source, scoring, candidates), scores)
        return kept

    def _fill(self, source: ProblemSource, missing: Sequence[Scoring], candidates: int | None, live_seconds: float
              ) -> dict[Scoring, Scores] | Waiting:
        """The missing scores, computed here one asker at a time, or out of finished runs, or what to wait for."""
        drawn = self.drawn(source)
        if isinstance(drawn, Waiting):
            return drawn
        for scoring in missing:
            check(drawn.problem, scoring)
        with self.memory.using(problem_key(source)):
            count = len(narrowed(drawn.problem, candidates).candidates)
            if cost.guess(missing, drawn.problem, count) > live_seconds:
                return self._from_runs(source, missing, count, candidates)
            if waiting := self._preparing(drawn, missing, live_seconds):
                return waiting
            with self.computing:
                found = self._kept(source, missing, candidates)  # another may have computed them meanwhile
                rest = [scoring for scoring in missing if scoring not in found]
                computed = answer(drawn.problem, rest, candidates=candidates) if rest else []
                heap.trim()
                return found | self._keep(source, computed, candidates)

    def _preparing(self, drawn: DrawnProblem, scorings: Sequence[Scoring], live_seconds: float) -> Waiting | None:
        """What these scorings have to wait for besides the training, begun; None where that is a matter of a moment."""
        needs, seconds = cost.preparation(scorings, drawn.problem)
        if not needs or seconds <= live_seconds or self._trainings.follow(drawn.source, drawn).done():
            return None
        return Waiting("Factoring the Hessian", source=drawn.source, needs=needs)

    def _from_runs(self, source: ProblemSource, missing: Sequence[Scoring], count: int, candidates: int | None
                   ) -> dict[Scoring, Scores] | Waiting:
        found = self._keep(source, runs.finished(self.jobs, source, missing, count).values(), candidates)
        rest = [scoring for scoring in missing if scoring not in found]
        return runs.under_way(self.jobs, source, rest, count) if rest else found


def _key(source: ProblemSource, scoring: Scoring, candidates: int | None) -> Hashable:
    return "scores", source.key, scoring.digest, candidates


def _factor(drawn: DrawnProblem) -> None:
    """What the first re-optimisation would otherwise wait for."""
    prepare(drawn.problem)
    heap.trim()
