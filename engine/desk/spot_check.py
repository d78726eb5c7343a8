"""How well an approximation ranks, for a page: by exact scores at hand, or computed now, or what to wait for."""

from __future__ import annotations

from time import perf_counter

from engine.analysis.spot_check import (
    CANDIDATES,
    NotMeasured,
    SpotCheck,
    against,
    reference,
    refused,
    too_dear,
)
from engine.basics.errors import InvalidInput
from engine.desk import runs
from engine.desk.compared import Compared
from engine.desk.desk import Desk, narrowed
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.scoring import cost
from engine.scoring.scoring import Scoring

QUICK, AFFORDABLE = 1.5, 60.0
"""Seconds up to which the exact answer is computed at once, and up to which a comparison asks for it by itself."""


def at_hand(desk: Desk, view: Compared, seconds: float) -> list[SpotCheck | NotMeasured | Waiting]:
    """Every scoring of a comparison, as far as its exact answer is known or computed within so many seconds for all of
    them together; a `NotMeasured` of the others says what theirs would take."""
    end = perf_counter() + seconds
    return [spot_checked(desk, view, index, 0.0, max(0.0, end - perf_counter())) for index in range(len(view.scorings))]


def spot_checked(desk: Desk, view: Compared, index: int, most_seconds: float = AFFORDABLE,
                 quick: float | None = None) -> SpotCheck | NotMeasured | Waiting:
    """The scoring at `index` of a comparison, on its first draw. most_seconds: what the exact answer may cost. quick:
    within how many it is computed at once (default: `QUICK`).

    The whole arrays where the exact answer to its question stands in the comparison. Else the first `CANDIDATES` of the
    drawn candidates, which stand in random order (`engine.data.sampling.draw`), and all queries, which are the first
    ones of a random order of the test examples, too.
    """
    scoring, source = view.scorings[index], view.sources[0]
    exact = reference(scoring)
    if isinstance(exact, NotMeasured):
        return exact
    if exact in view.scorings:
        return desk.memory.cached(("spot check", *view.key, index), lambda: against(
            view.scores[0][index], view.scores[0][view.scorings.index(exact)]))
    count = min(CANDIDATES, len(view.scores[0][index].candidates))
    return _first(desk, source, scoring, exact, count, most_seconds, QUICK if quick is None else quick)


def _first(desk: Desk, source: ProblemSource, scoring: Scoring, exact: Scoring, count: int, most_seconds: float,
           quick: float) -> SpotCheck | NotMeasured | Waiting:
    """The same over the first `count` candidates."""
    try:
        if not desk.at_once(source, [scoring, exact], count, quick):
            dear = _cost(desk, source, scoring, exact, count)
            if isinstance(dear, Waiting):
                return dear
            if dear.seconds > most_seconds and not runs.finished(desk.jobs, source, [exact], count):
                return dear
        scores = desk.scores(source, [scoring, exact], count, QUICK)
    except InvalidInput as error:
        return NotMeasured(scoring, refused(error))
    if isinstance(scores, Waiting):
        failure = desk.jobs.failure(scores, "its run failed")
        return NotMeasured(scoring, refused(failure)) if failure else scores
    approximate, right = scores
    queries, candidates = approximate.values.shape
    of = (source.n_queries or queries, source.most_candidates or candidates)
    return desk.memory.cached(("spot check", source.key, scoring.digest, count), lambda: against(
        approximate, right, of=of, seed=source.seed))


def _cost(desk: Desk, source: ProblemSource, scoring: Scoring, exact: Scoring, count: int) -> NotMeasured | Waiting:
    """What the exact answer costs, as the reason why it is not measured; or the model that it waits for."""
    sampled = desk.sampled(source)
    if isinstance(sampled, Waiting):
        return sampled
    problem = narrowed(sampled.problem, count)
    return too_dear(scoring, cost.guess([exact], problem, count) + cost.preparation([exact], problem)[1], count)
