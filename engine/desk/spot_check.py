"""How well an approximation ranks, for a page: by exact scores at hand, or computed now, or what to wait for."""

from __future__ import annotations

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
from engine.desk.answering import narrowed
from engine.desk.compared import Compared
from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.scoring import cost
from engine.scoring.scoring import Scoring

QUICK, AFFORDABLE = 1.5, 60.0
"""Seconds up to which the exact answer is computed at once, and up to which a comparison asks for it by itself."""


def spot_checked(desk: Desk, found: Compared, place: int, most_seconds: float = AFFORDABLE
                 ) -> SpotCheck | NotMeasured | Waiting:
    """The scoring at `place` of a comparison, on its first draw. most_seconds: what the exact answer may cost.

    The whole arrays where the exact answer to its question stands in the comparison. Else the first `CANDIDATES` of the
    drawn candidates, which stand in random order (`engine.data.sampling.draw`), and all queries, which are the first
    ones of a random order of the test examples, too.
    """
    scoring, source = found.scorings[place], found.sources[0]
    exact = reference(scoring)
    if isinstance(exact, NotMeasured):
        return exact
    if exact in found.scorings:
        return desk.memory.kept(("spot check", *found.key, place), lambda: against(
            found.scores[0][place], found.scores[0][found.scorings.index(exact)]))
    count = min(CANDIDATES, len(found.scores[0][place].candidates))
    return _drawn(desk, source, scoring, exact, count, most_seconds)


def _drawn(desk: Desk, source: ProblemSource, scoring: Scoring, exact: Scoring, count: int, most_seconds: float
           ) -> SpotCheck | NotMeasured | Waiting:
    of = (source.n_queries, source.n_candidates or source.n_train)
    try:
        if not desk.at_once(source, [scoring, exact], count, QUICK):
            dear = _cost(desk, source, scoring, exact, count)
            if isinstance(dear, Waiting):
                return dear
            if dear.seconds > most_seconds and not runs.finished(desk.jobs, source, [exact], count):
                return dear
        scores = desk.scores(source, [scoring, exact], count, QUICK)
    except InvalidInput as error:
        return NotMeasured(scoring, refused(error))
    if isinstance(scores, Waiting):
        job = desk.jobs.queue.get(scores.job) if scores.job else None
        failed = job is not None and job.state == "failed"
        return NotMeasured(scoring, refused(job.error or "its run failed")) if failed and job else scores
    approximate, right = scores
    queries, candidates = approximate.values.shape
    return desk.memory.kept(("spot check", source.key, scoring.digest, count), lambda: against(
        approximate, right, of=(of[0] or queries, of[1] or candidates), seed=source.seed))


def _cost(desk: Desk, source: ProblemSource, scoring: Scoring, exact: Scoring, count: int) -> NotMeasured | Waiting:
    """What the exact answer costs, as the reason why it is not measured; or the model that it waits for."""
    drawn = desk.drawn(source)
    if isinstance(drawn, Waiting):
        return drawn
    part = narrowed(drawn.problem, count)
    return too_dear(scoring, cost.guess([exact], part, count) + cost.preparation([exact], part)[1], count)
