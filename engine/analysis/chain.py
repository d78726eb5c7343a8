"""The stations of the way from one scoring to another: exact specifications that take one axis after the other.

Where an estimator departs from its specification, the way begins or ends with approximations of the same question
that depart by less (`engine.analysis.departed`): what normalises or preconditions is a cause of its own. If both ends
without their departures are one approximation, the axes are changed in its answers, and no error stands between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from engine.analysis import departed
from engine.basics.errors import InvalidInput
from engine.question.checkpoints import of_checkpoints
from engine.question.departure import Departure
from engine.question.processes import Process
from engine.question.runs import of_runs
from engine.question.specification import AXES, AXIS_NAMES
from engine.scoring.identities import EVERY_PROBLEM, Gives, ProblemFacts, Relation, relation
from engine.scoring.intermediate import intermediate
from engine.scoring.scoring import Scoring

ERROR_A, ERROR_B = "error of A", "error of B"
SEED, CHECKPOINTS = "seed", "checkpoints"
"""The parts of T that say of which runs, and at which models of one training: they are separated from the rest where
both answers have them."""
OF_T: Mapping[str, Callable[[Any, Process], Any]] = {SEED: of_runs, CHECKPOINTS: of_checkpoints}
PARTS = (*AXES, *OF_T)
NAMES: Mapping[str, str] = {**AXIS_NAMES, SEED: "seed", CHECKPOINTS: "checkpoints"}
Causes = tuple[str, ...]
"""Of A's departures, `error of A`, B, P, T, its parts, `error of B` and B's departures, in this order."""


@dataclass(frozen=True)
class Chain:
    """The stations between two scorings. stations: the causes behind -> the exact scoring there.

    missing: the causes behind -> why no specification stands there. readings: how unfit pairs were read. facts: of the
    problem. plain: both scorings without the departures that are causes here. departures: the cause -> what departs.
    """

    a: Scoring
    b: Scoring
    causes: Causes
    stations: Mapping[frozenset[str], Scoring]
    missing: Mapping[frozenset[str], str]
    readings: tuple[str, ...]
    facts: ProblemFacts
    plain: tuple[Scoring, Scoring]
    departures: Mapping[str, Departure]

    @property
    def needed(self) -> tuple[Scoring, ...]:
        """The scorings that `measure` reads, each once; A and B themselves are not among them."""
        return tuple(dict.fromkeys(scoring for scoring in self.stations.values() if scoring not in (self.a, self.b)))

    @property
    def titles(self) -> dict[str, str]:
        """What a sentence calls each cause."""
        return {**{axis: f"the {NAMES[axis]}" for axis in PARTS},
                **{error: f"{self.own_question(error)}the approximation error of {self.route(error)}"
                   for error in (ERROR_A, ERROR_B)},
                **{cause: self._departure(cause) for cause in self.departures}}

    def _departure(self, cause: str) -> str:
        named = departed.title(self.departures[cause])
        twice = list(self.departures.values()).count(self.departures[cause]) > 1
        side = " of the first answer" if cause.endswith(OF_A) else " of the second"
        return f"{named}{side}" if twice else named

    def side(self, error: str) -> Scoring:
        """The answer whose error it is."""
        return self.a if error == ERROR_A else self.b

    def route(self, error: str) -> str:
        """What a sentence calls the estimator of a side, told from the other one's of the same name."""
        first, second = map(_route, self.plain)
        name = first if error == ERROR_A else second
        if first == second and {ERROR_A, ERROR_B} <= set(self.causes):
            return f"{name} in the first answer" if error == ERROR_A else f"{name} in the second"
        return name

    def own_question(self, error: str) -> str:
        """What stands in one link with the approximation error of a side; empty for most."""
        plain = self.plain[0] if error == ERROR_A else self.plain[1]
        return "".join(f"the other question ({departure.title}) with " for departure in plain.departures)

    def reference(self, error: str) -> Scoring | None:
        """The exact scoring that an approximate side is measured against; None where no specification stands there."""
        if error not in self.causes:
            return None
        behind = self.causes.index(error) + (error == ERROR_A)
        return self.stations.get(frozenset(self.causes[:behind]))


OF_A, OF_B = " of A", " of B"
"""What stands behind the title of a departure in the name of its cause."""


def chain(a: Scoring, b: Scoring, n: int, facts: ProblemFacts = EVERY_PROBLEM) -> Chain:
    """The stations from A to B, with n training examples. Those that an identity makes equal are one scoring.

    A departure without a station of its own counts with the estimator's error, as both sides of one estimator do.
    """
    _check(a, b)
    plain = _plain(a, b)
    departures = {**_departures(a, plain[0], OF_A), **_departures(b, plain[1], OF_B)}
    of_a, of_b = ([cause for cause in departures if cause.endswith(side)] for side in (OF_A, OF_B))
    alike = bool(departures) and not plain[0].exact and plain[0].estimator == plain[1].estimator
    start = (*of_a, *(() if plain[0].exact or alike else (ERROR_A,)))
    end = (*(() if plain[1].exact or alike else (ERROR_B,)), *of_b)
    axes = _parts(*plain)
    causes = (*start, *axes, *end)
    stations: dict[frozenset[str], Scoring] = {}
    missing: dict[frozenset[str], str] = {}
    readings = _between((a, b), plain, axes, start, n, facts, alike, stations, missing)
    for behind, scoring in (*_departed(a, departures, of_a, frozenset(), leaving=True),
                            *_departed(b, departures, of_b, frozenset(causes) - set(of_b), leaving=False)):
        stations.update({behind: scoring} if scoring is not None else {})
    return Chain(a, b, causes, stations, missing, tuple(dict.fromkeys(readings)), facts, plain, departures)


def _check(a: Scoring, b: Scoring) -> None:
    for scoring in (a, b):
        if not scoring.route.implies:
            raise InvalidInput(f"`{scoring.route.title}` implies no specification, so no path of exact specifications "
                               "starts at it; explain two scorings that have one.")
        if scoring.route.unsigned:
            raise InvalidInput(f"The scores “{scoring.route.title}” have no sign, so they cannot be part of a path of "
                               "signed scores; explain scores that have one.")


def _plain(a: Scoring, b: Scoring) -> tuple[Scoring, Scoring]:
    """Both without their departures, where that has a scoring of its own and they are two estimators."""
    if a.estimator == b.estimator:
        return a, b
    return departed.plain(a) or a, departed.plain(b) or b


def _departures(scoring: Scoring, plain: Scoring, side: str) -> dict[str, Departure]:
    return {} if plain == scoring else {f"{departure.title}{side}": departure for departure in scoring.departures}


def _departed(scoring: Scoring, departures: Mapping[str, Departure], causes: Sequence[str], behind: frozenset[str], *,
              leaving: bool) -> Iterator[tuple[frozenset[str], Scoring | None]]:
    """(the causes behind, the scoring there) with some of the causes behind: departures that the way has left, or else
    those that it has come to; None where no estimator departs by the rest."""
    for size in range(1 if leaving else 0, len(causes) + leaving):
        for taken in combinations(causes, size):
            kept = [cause for cause in causes if (cause in taken) != leaving]
            yield behind | set(taken), departed.departing(scoring, [departures[cause] for cause in kept])


def _between(ends: tuple[Scoring, Scoring], plain: tuple[Scoring, Scoring], axes: Causes, start: Causes, n: int,
             facts: ProblemFacts, alike: bool, stations: dict[frozenset[str], Scoring],
             missing: dict[frozenset[str], str]) -> list[str]:
    """Puts the stations at which some of the axes are taken among them, and returns how unfit pairs were read."""
    (a, b), readings, questions = plain, [], {}
    for size in range(len(axes) + 1):
        for taken in combinations(axes, size):
            of_behavior, of_intervention, of_process = ((b if axis in taken else a) for axis in AXES)
            process = _with(of_process.process, a, b, axes, taken)
            between = intermediate(of_behavior.behavior, of_intervention.intervention, process, n, facts.convex)
            behind, scoring = frozenset((*start, *taken)), between.scoring
            if scoring is not None and alike:
                scoring = departed.answered(scoring, a.estimator)
            if scoring is None:
                missing[behind] = between.reading or f"{a.route.title} does not answer it"
                continue
            stations[behind] = scoring if alike else _equal_among((*ends, *stations.values()), scoring, facts)
            questions.update({} if alike else {behind: scoring})
            readings += [between.reading] if between.reading else []
    if alike:
        readings.append(f"Apart from their departures, both answers are by {a.route.title}, so the path runs through "
                        "its answers, not through exact ones: no approximation error is measured.")
    return [*readings, *_known(questions, facts)]


def _with(process: Process, a: Scoring, b: Scoring, axes: Causes, taken: Causes) -> Process:
    """A process with the parts of T of the side that each is taken from, where they are causes of their own."""
    for part, of in OF_T.items():
        if part in axes:
            process = of(process, (b if part in taken else a).process)
    return process


def _parts(a: Scoring, b: Scoring) -> Causes:
    """The axes on which the specifications differ, the seeds of their runs and their checkpoints apart from the rest of
    T."""
    axes = a.specification.differing_axes(b.specification)
    parts, process = [], a.process
    for part, of in OF_T.items():
        if (moved := of(process, b.process)) != process:
            parts.append(part)
            process = moved
    if not parts:
        return axes
    return (*(axis for axis in axes if axis != "T" or process != b.process), *parts)


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
        title = title.removeprefix("inverse Hessian (").replace(")", "", 1)
    name, comma, settings = title.partition(",")
    return (name[0].lower() + name[1:] if " " in name else name) + comma + settings
