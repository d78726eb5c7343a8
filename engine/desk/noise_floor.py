"""Noise floors of a comparison: what another seed reaches, where it is known or quickly found, else what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.analysis.comparison import Comparison
from engine.analysis.noise_floor import Runs, floor, runs
from engine.basics.errors import WhichfluenceError
from engine.desk.compared import Compared
from engine.desk.desk import Desk
from engine.desk.titles import problem_title
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.requests import check_queued
from engine.runs import scores as score_runs
from engine.scoring import cost
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

AFFORDABLE = 1.5
"""Guessed seconds, over all draws, up to which the other run is computed unasked."""


@dataclass(frozen=True)
class Floors:
    """Of the scorings of a comparison that are about a single run. pairs: scoring -> its two runs; measured: its two
    runs -> their agreement. missing: what is not computed yet, a list for each draw. seconds: guessed for all of it,
    None where that cannot be guessed. waiting: the job that computes it. trouble: why a run has no scores."""

    pairs: Mapping[Scoring, Runs]
    measured: Mapping[Runs, Comparison]
    missing: tuple[tuple[Scoring, ...], ...] = ()
    seconds: float | None = None
    waiting: Waiting | None = None
    trouble: Mapping[Runs, str] = field(default_factory=dict)

    def of(self, scoring: Scoring) -> Comparison | None:
        """The floor under a scoring; None where it is not about a single run, or where it is not measured."""
        return self.measured.get(self.pairs[scoring]) if scoring in self.pairs else None


def floors(desk: Desk, found: Compared) -> Floors:
    """What is known of the noise floors, without waiting: what memory and finished runs hold, and what a moment finds.
    """
    told = {scoring: runs(scoring, found.scorings, found.facts) for scoring in found.scorings}
    pairs = {scoring: own for scoring, own in told.items() if own is not None}
    wanted = list(dict.fromkeys(one for own in pairs.values() for one in own.both))
    held, trouble = [], ""
    for source in found.sources if wanted else ():
        scores, said = _at_hand(desk, source, wanted, found)
        held.append(scores)
        trouble = trouble or said
    measured, refused = {}, {}
    for own in dict.fromkeys(pairs.values()):
        if all(set(own.both) <= set(scores) for scores in held):
            try:
                measured[own] = _floor(desk, found, own, held)
            except WhichfluenceError as error:
                refused[own] = str(error)
        elif trouble:
            refused[own] = trouble
    rest = tuple(tuple(one for one in wanted if one not in scores) for scores in held)
    if trouble or not any(rest):
        return Floors(pairs, measured, trouble=refused)
    return Floors(pairs, measured, rest, _seconds(desk, found, rest), _waiting(desk, found, rest), refused)


def ask(desk: Desk, found: Compared, missing: tuple[tuple[Scoring, ...], ...]) -> None:
    """Queue what is missing, a job a draw. Raises `InvalidInput` for a behavior that a worker does not know."""
    for source, scorings in zip(found.sources, missing, strict=True):
        if scorings:
            check_queued(scorings)
            title = f"Another seed of {len(scorings)} question{'s' if len(scorings) > 1 else ''} on " \
                    f"{problem_title(source)}, {_count(found)} candidates"
            desk.jobs.take_up(score_runs.KIND, _payload(source, scorings, found), title)


def _floor(desk: Desk, found: Compared, own: Runs, held: list[dict[Scoring, Scores]]) -> Comparison:
    key = ("noise floor", *found.key, *(one.digest for one in own.both))
    return desk.memory.kept(key, lambda: floor([(scores[own.own], scores[own.other]) for scores in held]))


def _at_hand(desk: Desk, source: ProblemSource, wanted: list[Scoring], found: Compared
             ) -> tuple[dict[Scoring, Scores], str]:
    """The scores of those that are known, or are found in a moment; and why they cannot be had, empty where they can.
    """
    scores = desk.at_hand(source, wanted, found.candidates, _count(found))
    rest, allowed = [one for one in wanted if one not in scores], AFFORDABLE / len(found.sources)
    try:
        if rest and desk.at_once(source, rest, found.candidates, allowed):
            computed = desk.scores(source, rest, found.candidates, allowed)
            scores |= {} if isinstance(computed, Waiting) else dict(zip(rest, computed, strict=True))
    except WhichfluenceError as error:
        return scores, str(error)
    return scores, ""


def _seconds(desk: Desk, found: Compared, missing: tuple[tuple[Scoring, ...], ...]) -> float | None:
    """Guessed for all that is missing; None while a model is not at hand."""
    total = 0.0
    for source, scorings in zip(found.sources, missing, strict=True):
        drawn = desk.drawn(source)
        if isinstance(drawn, Waiting):
            return None
        total += cost.guess(scorings, drawn.problem, _count(found)) if scorings else 0.0
    return total


def _waiting(desk: Desk, found: Compared, missing: tuple[tuple[Scoring, ...], ...]) -> Waiting | None:
    jobs = [desk.jobs.under_way(score_runs.KIND, _payload(source, scorings, found))
            for source, scorings in zip(found.sources, missing, strict=True) if scorings]
    return next((job for job in jobs if job is not None), None)


def _payload(source: ProblemSource, scorings: tuple[Scoring, ...], found: Compared) -> dict:
    return score_runs.payload(source, scorings, _count(found))


def _count(found: Compared) -> int:
    """How many candidates are scored."""
    return len(found.scores[0][0].candidates)
