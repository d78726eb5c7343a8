"""Scorings compared on several draws: scored, or what to wait for, and then agreement and verdict of every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    """A list of scorings, scored and compared on every seed. key: texts that determine all of it.

    waiting: what the rest waits for, where only some are scored: some of the `seeds` that were wanted, or, on one of
    them, those of the scorings that `rows` lists.
    """

    key: tuple
    sources: tuple[ProblemSource, ...]
    scorings: tuple[Scoring, ...]
    candidates: int | None
    scores: tuple[tuple[Scores, ...], ...]
    comparison: Comparison
    waiting: Waiting | None = None
    seeds: int = 1
    rows: tuple[int, ...] = ()

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
    What is finished of it is compared, and holds what the rest waits for: seeds, or of none all scorings.

    optima: how many candidates are scored where each costs much.
    """
    candidates = desk.candidate_count(sources[0], scorings, optima)
    scored: dict[ProblemSource, tuple[Scores, ...]] = {}
    parts: list[tuple[str, Waiting]] = []
    for source in sources:
        scores = desk.scores(source, scorings, candidates, source.problem_class.live_seconds / len(sources))
        if not isinstance(scores, Waiting):
            scored[source] = tuple(scores)
            continue
        parts.append((f"seed {source.seed}", scores))
        if scores.job is None:
            break
    if not parts:
        return _compared(desk, scored, scorings, candidates, seeds=len(sources))
    waiting = _together(desk, sources, scorings, candidates, parts)
    if scored:
        return _compared(desk, scored, scorings, candidates, waiting, len(sources))
    return _some(desk, sources, scorings, candidates, waiting) or waiting


def _compared(desk: Desk, scored: Mapping[ProblemSource, tuple[Scores, ...]], scorings: Sequence[Scoring],
              candidates: int | None, waiting: Waiting | None = None, seeds: int = 1, rows: Sequence[int] = ()
              ) -> Compared:
    sources = tuple(scored)
    key = (tuple(source.key for source in sources), tuple(codes.encode(s) for s in scorings), candidates)
    comparison = desk.memory.cached(("comparison", *key), lambda: compare(
        list(scored.values()), problem=sources[0].problem_class))
    return Compared(key, sources, tuple(scorings), candidates, tuple(scored.values()), comparison, waiting, seeds,
                    tuple(rows) or tuple(range(len(scorings))))


def _some(desk: Desk, sources: Sequence[ProblemSource], scorings: Sequence[Scoring], candidates: int | None,
          waiting: Waiting) -> Compared | None:
    """The scorings that are there on the seed that has most of them, compared; None where that is fewer than two."""
    best: tuple[ProblemSource, dict[Scoring, Scores]] | None = None
    for source in sources:
        count = candidates or source.most_candidates
        scores = desk.at_hand(source, scorings, candidates, count) if count and desk.holds(source) else {}
        if len(scores) > (len(best[1]) if best else 1):
            best = source, scores
    if best is None:
        return None
    rows = [index for index, scoring in enumerate(scorings) if scoring in best[1]]
    some = [scorings[index] for index in rows]
    scored = {best[0]: tuple(best[1][one] for one in some)}
    return _compared(desk, scored, some, candidates, waiting, len(sources), rows)


def _together(desk: Desk, sources: Sequence[ProblemSource], scorings: Sequence[Scoring], candidates: int | None,
              parts: Sequence[tuple[str, Waiting]]) -> Waiting:
    """What all parts wait for, as one piece of work."""
    title = f"{len(scorings)} specifications on {sources[0].title}, {len(sources)} seeds"
    key = [*(source.key for source in sources), *(codes.encode(one) for one in scorings), str(candidates)]
    return replace(desk.jobs.together(title, key, parts, len(sources)), partial=True)


def further(desk: Desk, view: Compared, a: int, b: int) -> Comparison:
    """A pair in the measures beyond the three, over all seeds."""
    return desk.memory.cached(("further", *view.key, a, b), lambda: compare(
        [[seed[a], seed[b]] for seed in view.scores], ("a", "b"), metrics=tuple(FURTHER)))
