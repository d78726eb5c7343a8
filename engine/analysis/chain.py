"""The stations of the way from one scoring to another: exact specifications that take one axis after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from engine.basics.errors import InvalidInput
from engine.brought.claim import Claim
from engine.question.specification import AXES, AXIS_NAMES
from engine.scoring.identities import EVERY_PROBLEM, Gives, ProblemFacts, relation
from engine.scoring.intermediate import intermediate
from engine.scoring.scoring import Scoring

ERROR_A, ERROR_B = "error of A", "error of B"
Causes = tuple[str, ...]
"""Of `error of A`, B, P, T and `error of B`, in this order."""
ORDER = (ERROR_A, *AXES, ERROR_B)


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
        return {**{axis: f"the {AXIS_NAMES[axis]}" for axis in AXES},
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
    axes = a.specification.differing_axes(b.specification)
    start = () if a.exact else (ERROR_A,)
    causes = (*start, *axes, *(() if b.exact else (ERROR_B,)))
    asked: dict[frozenset[str], Scoring] = {}
    stations: dict[frozenset[str], Scoring] = {}
    missing, readings = {}, []
    for size in range(len(axes) + 1):
        for taken in combinations(axes, size):
            parts = [(b if axis in taken else a) for axis in AXES]
            found = intermediate(parts[0].behavior, parts[1].intervention, parts[2].process, n, facts.convex)
            behind = frozenset((*start, *taken))
            if found.scoring is None:
                missing[behind] = found.reading
            else:
                asked[behind] = found.scoring
                stations[behind] = _equal_among((a, b, *stations.values()), found.scoring, facts)
                readings += [found.reading] if found.reading else []
    readings += _known(asked, facts)
    return Chain(a, b, causes, stations, missing, tuple(dict.fromkeys(readings)))


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
            said.append(f"The {AXIS_NAMES[next(axis for axis in AXES if axis in causes)]} changes no ranking: "
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
