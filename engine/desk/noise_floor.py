"""Noise floors of a comparison: what another seed reaches, where it is known or quickly found, else what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.analysis.comparison import Comparison
from engine.analysis.noise_floor import RunPair, floor, runs
from engine.basics.errors import WhichfluenceError
from engine.desk import runs as score_runs
from engine.desk.compared import Compared
from engine.desk.desk import Desk
from engine.desk.waiting import Waiting
from engine.problems import ProblemSource
from engine.scoring import cost
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

AFFORDABLE = 1.5
"""Guessed seconds, over all draws, up to which the other run is computed unasked."""
Missing = tuple[tuple[Scoring, ...], ...]
"""What is not computed yet, a tuple for each draw."""


@dataclass(frozen=True)
class Floors:
    """Of the scorings of a comparison that are about a single run. pairs: scoring -> its two runs; measured: its two
    runs -> their agreement. missing: what is not computed yet, a list for each draw. seconds: guessed for all of it,
    None where that cannot be guessed. waiting: the job that computes it. trouble: why a run has no scores."""

    pairs: Mapping[Scoring, RunPair]
    measured: Mapping[RunPair, Comparison]
    missing: Missing = ()
    seconds: float | None = None
    waiting: Waiting | None = None
    trouble: Mapping[RunPair, str] = field(default_factory=dict)

    def of(self, scoring: Scoring) -> Comparison | None:
        """The floor under a scoring; None where it is not about a single run, or where it is not measured."""
        return self.measured.get(self.pairs[scoring]) if scoring in self.pairs else None


def floors(desk: Desk, view: Compared) -> Floors:
    """What is known of the noise floors, without waiting: what memory and finished runs hold, and what a moment finds.
    """
    single = {scoring: runs(scoring, view.scorings, view.facts) for scoring in view.scorings}
    pairs = {scoring: own for scoring, own in single.items() if own is not None}
    wanted = list(dict.fromkeys(one for own in pairs.values() for one in own.both))
    at_hand = [_at_hand(desk, source, wanted, view) for source in view.sources] if wanted else []
    draws = [scores for scores, _ in at_hand]
    trouble = next((said for _, said in at_hand if said), "")
    measured, refused = {}, {}
    for own in dict.fromkeys(pairs.values()):
        if all(set(own.both) <= set(scores) for scores in draws):
            try:
                measured[own] = _floor(desk, view, own, draws)
            except WhichfluenceError as error:
                refused[own] = str(error)
        elif trouble:
            refused[own] = trouble
    rest = tuple(tuple(one for one in wanted if one not in scores) for scores in draws)
    if trouble or not any(rest):
        return Floors(pairs, measured, trouble=refused)
    return Floors(pairs, measured, rest, _seconds(desk, view, rest), _waiting(desk, view, rest), refused)


def ask(desk: Desk, view: Compared, missing: Missing) -> None:
    """Queue what is missing, a job a draw. Raises `InvalidInput` for a behavior that a worker does not know."""
    parts = []
    for source, scorings in zip(view.sources, missing, strict=True):
        if scorings:
            questions = f"{len(scorings)} question{'s' if len(scorings) > 1 else ''}"
            title = f"Another seed of {questions} on {source.title}, {_count(view)} candidates"
            parts.append((f"seed {source.seed}", desk.start(score_runs.request(source, scorings, _count(view)), title)))
    if parts:
        desk.jobs.together(parts[0][1].what, [waiting.job or "" for _, waiting in parts], parts, len(parts))


def _floor(desk: Desk, view: Compared, own: RunPair, draws: list[dict[Scoring, Scores]]) -> Comparison:
    key = ("noise floor", *view.key, *(one.digest for one in own.both))
    return desk.memory.cached(key, lambda: floor([(scores[own.own], scores[own.other]) for scores in draws]))


def _at_hand(desk: Desk, source: ProblemSource, wanted: list[Scoring], view: Compared
             ) -> tuple[dict[Scoring, Scores], str]:
    """The scores of those that are known, or are found in a moment; and why they cannot be had, empty where they can.
    """
    scores = desk.at_hand(source, wanted, view.candidates, _count(view))
    rest, allowed = [one for one in wanted if one not in scores], AFFORDABLE / len(view.sources)
    try:
        if rest and desk.at_once(source, rest, view.candidates, allowed):
            computed = desk.scores(source, rest, view.candidates, allowed)
            scores |= {} if isinstance(computed, Waiting) else dict(zip(rest, computed, strict=True))
    except WhichfluenceError as error:
        return scores, str(error)
    return scores, ""


def _seconds(desk: Desk, view: Compared, missing: Missing) -> float | None:
    """Guessed for all that is missing; None while a model is not at hand."""
    total = 0.0
    for source, scorings in zip(view.sources, missing, strict=True):
        sampled = desk.sampled(source)
        if isinstance(sampled, Waiting):
            return None
        total += cost.guess(scorings, sampled.problem, _count(view)) if scorings else 0.0
    return total


def _waiting(desk: Desk, view: Compared, missing: Missing) -> Waiting | None:
    requests = [score_runs.request(source, scorings, _count(view))
                for source, scorings in zip(view.sources, missing, strict=True) if scorings]
    jobs = (desk.jobs.under_way(request.name, request.payload) for request in requests)
    return next((job for job in jobs if job is not None), None)


def _count(view: Compared) -> int:
    """How many candidates are scored."""
    return len(view.scores[0][0].candidates)
