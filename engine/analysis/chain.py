"""The stations of the way from one scoring to another: exact specifications that take one axis after the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from engine.basics.errors import InvalidInput
from engine.question.runs import of_runs
from engine.question.specification import AXES, AXIS_NAMES
from engine.scoring.identities import EVERY_PROBLEM, Gives, ProblemFacts, Relation, relation
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

    missing: the causes behind -> why no specification stands there. readings: how unfit pairs were read. facts: of the
    problem.
    """

    a: Scoring
    b: Scoring
    causes: Causes
    stations: Mapping[frozenset[str], Scoring]
    missing: Mapping[frozenset[str], str]
    readings: tuple[str, ...]
    facts: ProblemFacts = EVERY_PROBLEM

    @property
    def needed(self) -> tuple[Scoring, ...]:
        """The exact scorings that `measure` reads, each once; A and B themselves are not among them."""
        return tuple(dict.fromkeys(scoring for scoring in self.stations.values() if scoring not in (self.a, self.b)))

    @property
    def titles(self) -> dict[str, str]:
        """What a sentence calls each cause."""
        return {**{axis: f"the {NAMES[axis]}" for axis in PARTS},
                **{error: f"{self.own_question(error)}the approximation error of {self.route(error)}"
                   for error in (ERROR_A, ERROR_B)}}

    def side(self, error: str) -> Scoring:
        """The answer whose error it is."""
        return self.a if error == ERROR_A else self.b

    def route(self, error: str) -> str:
        """What a sentence calls the estimator of a side, told from the other one's of the same name."""
        name = _route(self.side(error))
        if _route(self.a) == _route(self.b) and {ERROR_A, ERROR_B} <= set(self.causes):
            return f"{name} in the first answer" if error == ERROR_A else f"{name} in the second"
        return name

    def own_question(self, error: str) -> str:
        """What stands in one link with the approximation error of a side; empty for most."""
        return "".join(f"the other question ({departure.title}) with " for departure in self.side(error).departures)

    def reference(self, error: str) -> Scoring | None:
        """The exact scoring that an approximate side is measured against; None where no specification stands there."""
        axes = frozenset(cause for cause in self.causes if cause not in (ERROR_A, ERROR_B))
        start = frozenset(cause for cause in self.causes if cause == ERROR_A)
        return self.stations.get(start if error == ERROR_A else start | axes)


def chain(a: Scoring, b: Scoring, n: int, facts: ProblemFacts = EVERY_PROBLEM) -> Chain:
    """The stations from A to B, with n training examples. Those that an identity makes equal are one scoring.

    What an estimator's own question departs by has no exact scores, so that it counts with the estimator's error.
    """
    for scoring in (a, b):
        if not scoring.route.implies:
            raise InvalidInput(f"`{scoring.route.title}` implies no specification, so no path of exact specifications "
                               "starts at it; explain two scorings that have one.")
        if scoring.route.unsigned:
            raise InvalidInput(f"The scores “{scoring.route.title}” have no sign, so they are not on a path of signed "
                               "scores; explain scores that have one.")
    axes = _parts(a, b)
    start = () if a.exact else (ERROR_A,)
    causes = (*start, *axes, *(() if b.exact else (ERROR_B,)))
    questions: dict[frozenset[str], Scoring] = {}
    stations: dict[frozenset[str], Scoring] = {}
    missing, readings = {}, []
    for size in range(len(axes) + 1):
        for taken in combinations(axes, size):
            parts = [(b if axis in taken else a) for axis in AXES]
            process = of_runs(parts[2].process, (b if SEED in taken else a).process) if SEED in axes else (
                parts[2].process)
            between = intermediate(parts[0].behavior, parts[1].intervention, process, n, facts.convex)
            behind = frozenset((*start, *taken))
            if between.scoring is None:
                missing[behind] = between.reading
            else:
                questions[behind] = between.scoring
                stations[behind] = _equal_among((a, b, *stations.values()), between.scoring, facts)
                readings += [between.reading] if between.reading else []
    readings += _known(questions, facts)
    return Chain(a, b, causes, stations, missing, tuple(dict.fromkeys(readings)), facts)


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
        related = relation(scoring, other, facts)
        if related is not None and related.gives is Gives.EQUAL:
            return other
    return scoring


def _known(stations: Mapping[frozenset[str], Scoring], facts: ProblemFacts) -> list[str]:
    """What identities say of the links of one cause: that it changes no ranking, on all of them or on which."""
    links: dict[str, list[tuple[frozenset[str], Relation | None]]] = {}
    for here, after in combinations(stations, 2):
        causes = [axis for axis in PARTS if axis in after - here]
        if here < after and len(causes) == 1:
            links.setdefault(causes[0], []).append((here, relation(stations[here], stations[after], facts)))
    said = []
    for cause in (axis for axis in PARTS if axis in links):
        everywhere = all(link is not None for _, link in links[cause])
        for here, link in links[cause]:
            if link is not None and link.reasons:  # one scoring, read twice, has none
                where = "" if everywhere else _beside(cause, here, links)
                said.append(f"The {NAMES[cause]} changes no ranking{where}: {'; '.join(link.reasons)}.")
    return said


def _beside(cause: str, here: frozenset[str], links: Collection[str]) -> str:
    """On which of its links a cause is met: what of the rest is already that of the second answer."""
    taken = [NAMES[axis] for axis in PARTS if axis in here]
    left = [NAMES[axis] for axis in PARTS if axis in links and axis not in here and axis != cause]
    differing = [f"the {' and '.join(names)} of the {which}" for names, which in ((left, "first"), (taken, "second"))
                 if names]
    return f" beside {' and '.join(differing)}" if differing else ""


def _route(scoring: Scoring) -> str:
    """An estimator's name inside a sentence: `conjugate gradients` rather than `inverse Hessian (Conjugate …)`."""
    title = scoring.route.title
    if scoring.route.proper:
        return title
    if title.startswith("inverse Hessian ("):
        title = title.removeprefix("inverse Hessian (").removesuffix(")")
    return title[0].lower() + title[1:] if " " in title else title
