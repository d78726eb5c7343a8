"""The stations of the way from one scoring to another: exact specifications that take one axis after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from engine.basics.errors import InvalidInput
from engine.brought.claim import Claim
from engine.question.runs import of_runs
from engine.question.specification import AXES, AXIS_NAMES
from engine.scoring.identities import EVERY_PROBLEM, Gives, ProblemFacts, relation
from engine.scoring.intermediate import intermediate
from engine.scoring.scoring import Scoring

ERROR_A, ERROR_B = "error of A", "error of B"
SEED = "seed"
"""The part of T that says of which runs: it is told from the rest where both answers are of runs."""
PARTS = (*AXES, SEED)
NAMES: Mapping[str, str] = {**AXIS_NAMES, SEED: "seed"}
Causes = tuple[str, ...]
"""Of `error of A`, B, P, T, `seed` and `error of B`, in this order."""
ORDER = (ERROR_A, *PARTS, ERROR_B)


@dataclass(frozen=True)
class Chain:
    """The stations between two scorings. stations: the causes behind -> the exact scoring there.

    missing: the causes behind -> why no specification stands there. readings: how unfit pairs were read.
    """

    a: Scoring
    b: Scoring
    causes: Causes
    stations: Mapping[frozenset[str], Scoring]
    missing: Mapping[frozenset[str], str]
    readings: tuple[str, ...]

    @property
    def needed(self) -> tuple[Scoring, ...]:
        """The exact scorings that `measure` reads, each once; A and B themselves are not among them."""
        return tuple(dict.fromkeys(scoring for scoring in self.stations.values() if scoring not in (self.a, self.b)))

    @property
    def titles(self) -> dict[str, str]:
        """What a sentence calls each cause."""
        errors = {ERROR_A: _route(self.a), ERROR_B: _route(self.b)}
        if errors[ERROR_A] == errors[ERROR_B] and {ERROR_A, ERROR_B} <= set(self.causes):
            errors = {ERROR_A: f"{errors[ERROR_A]} in the first answer", ERROR_B: f"{errors[ERROR_B]} in the second"}
        sides = {ERROR_A: self.a, ERROR_B: self.b}
        return {**{part: f"the {NAMES[part]}" for part in PARTS},
                **{error: f"{_own_question(sides[error])}the approximation error of {route}"
                   for error, route in errors.items()}}


def chain(a: Scoring, b: Scoring, n: int, facts: ProblemFacts = EVERY_PROBLEM) -> Chain:
    """The stations from A to B, with n training examples. Those that an identity makes equal are one scoring.

    What an estimator's own question departs by has no exact scores, so that it counts with the estimator's error.
    """
    for scoring in (a, b):
        if not scoring.route.implies:
            raise InvalidInput(f"`{scoring.route.title}` implies no specification, so no way leads from its ranking "
                               "through exact ones; explain two answers to questions.")
    axes = _parts(a, b)
    start = () if a.exact else (ERROR_A,)
    causes = (*start, *axes, *(() if b.exact else (ERROR_B,)))
    asked: dict[frozenset[str], Scoring] = {}
    stations: dict[frozenset[str], Scoring] = {}
    missing, readings = {}, []
    for size in range(len(axes) + 1):
        for taken in combinations(axes, size):
            parts = [(b if axis in taken else a) for axis in AXES]
            process = of_runs(parts[2].process, (b if SEED in taken else a).process) if SEED in axes else (
                parts[2].process)
            found = intermediate(parts[0].behavior, parts[1].intervention, process, n, facts.convex)
            behind = frozenset((*start, *taken))
            if found.scoring is None:
                missing[behind] = found.reading
            else:
                asked[behind] = found.scoring
                stations[behind] = _equal_among((a, b, *stations.values()), found.scoring, facts)
                readings += [found.reading] if found.reading else []
    readings += _known(asked, facts)
    return Chain(a, b, causes, stations, missing, tuple(dict.fromkeys(readings)))


def _parts(a: Scoring, b: Scoring) -> Causes:
    """The axes on which the specifications differ, the seeds of their runs apart from the rest of T."""
    axes = a.specification.differing_axes(b.specification)
    with_b = of_runs(a.process, b.process)
    if with_b == a.process:
        return axes
    return *(axis for axis in axes if axis != "T" or with_b != b.process), SEED


def _equal_among(known: Sequence[Scoring], scoring: Scoring, facts: ProblemFacts) -> Scoring:
    """The first that must have the same scores; the scoring itself where there is none."""
    if scoring in known:
        return scoring
    for other in known:
        found = relation(scoring, other, facts)
        if found is not None and found.gives is Gives.EQUAL:
            return other
    return scoring


def _known(stations: Mapping[frozenset[str], Scoring], facts: ProblemFacts) -> list[str]:
    """What identities say of single links: a sentence for each reason why one changes no ranking."""
    said = []
    for here, after in combinations(stations, 2):
        causes = after - here
        found = relation(stations[here], stations[after], facts) if len(causes) == 1 and here < after else None
        if found is not None and found.reasons:  # one scoring, read twice, has none
            said.append(f"The {NAMES[next(part for part in PARTS if part in causes)]} changes no ranking: "
                        f"{'; '.join(found.reasons)}.")
    return said


def _own_question(scoring: Scoring) -> str:
    """What stands in one link with a scoring's approximation error; empty for most."""
    return "".join(f"the other question ({departure.title}) with " for departure in scoring.departures)


def _route(scoring: Scoring) -> str:
    """An estimator's name inside a sentence: `conjugate gradients` rather than `inverse Hessian (Conjugate …)`."""
    title = scoring.route.title
    if isinstance(scoring, Claim):  # its owner named it
        return title
    if title.startswith("inverse Hessian ("):
        title = title.removeprefix("inverse Hessian (").removesuffix(")")
    return title[0].lower() + title[1:] if " " in title else title
