"""Scorings compared on several draws: scored, or what to wait for, and then agreement and verdict of every pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.analysis.comparison import Comparison, compare
from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.metrics.agreement import FURTHER
from engine.problems import ProblemSource
from engine.scoring import codes
from engine.scoring.identities import ProblemFacts
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring


@dataclass(frozen=True, eq=False)
class Compared:
    """A list of scorings, scored and compared on every seed. key: texts that determine all of it."""

    key: tuple
    sources: tuple[ProblemSource, ...]
    scorings: tuple[Scoring, ...]
    candidates: int | None
    scores: tuple[tuple[Scores, ...], ...]
    comparison: Comparison

    @property
    def trusted(self) -> np.ndarray:
        """Which candidates of the first seed converged under every scoring: those that are ranked."""
        return np.logical_and.reduce([scores.converged for scores in self.scores[0]])

    @property
    def facts(self) -> ProblemFacts:
        """What verdicts ask of the problem."""
        return ProblemFacts.of(self.sources[0].problem_class, self.scores[0][0].provenance["sizes"]["classes"])

    @property
    def ranked_sources(self) -> list[ProblemSource]:
        """The sources with the number of candidates that were ranked, as a command line needs them."""
        return [source.model_copy(update={"n_candidates": len(self.scores[0][0].candidates)})
                for source in self.sources]


def compared(desk: Desk, sources: Sequence[ProblemSource], scorings: Sequence[Scoring], optima: int
             ) -> Compared | Waiting:
    """The scorings on all sources, compared, or what is being waited for; all that is missing is asked for at once.

    optima: how many candidates are scored where each costs much.
    """
    candidates = desk.candidate_count(sources[0], scorings, optima)
    key = (tuple(source.key for source in sources), tuple(codes.encode(s) for s in scorings), candidates)
    scored, waiting = [], None
    for source in sources:
        scores = desk.scores(source, scorings, candidates, source.problem_class.live_seconds / len(sources))
        if isinstance(scores, Waiting) and scores.job is None:
            return waiting or scores
        if isinstance(scores, Waiting):
            waiting = waiting or scores
        else:
            scored.append(tuple(scores))
    if waiting is not None:
        return waiting
    comparison = desk.memory.cached(("comparison", *key), lambda: compare(
        scored, problem=sources[0].problem_class))
    return Compared(key, tuple(sources), tuple(scorings), candidates, tuple(scored), comparison)


def further(desk: Desk, view: Compared, a: int, b: int) -> Comparison:
    """A pair in the measures beyond the three, over all seeds."""
    return desk.memory.cached(("further", *view.key, a, b), lambda: compare(
        [[seed[a], seed[b]] for seed in view.scores], ("a", "b"), metrics=tuple(FURTHER)))
