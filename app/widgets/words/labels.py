"""Short, distinct names for the specifications of one view: only what tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from app.widgets.words.chips import ESTIMATOR, ChipAxis
from engine.basics.errors import InvalidInput
from engine.basics.values import capital
from engine.desk.models import model_title
from engine.scoring.named import NAMED, NamedMethod
from engine.scoring.scoring import Scoring

ORDER: tuple[ChipAxis, ...] = ("B", "T", "P", ESTIMATOR)


def short(scorings: Sequence[Scoring]) -> list[str]:
    """One label a scoring, all different: the names of the literature where every one has its own, else for each
    the fewest axes that no other scoring shares; no behavior alone where most have another training process."""
    names = [name for scoring in scorings if (name := known_as(scoring)) is not None]
    if len(scorings) > 1 and len(set(names)) == len(scorings):
        return names
    return [_telling(index, scorings) for index in range(len(scorings))]


def _telling(index: int, scorings: Sequence[Scoring]) -> str:
    """What only this scoring has, in as few axes as possible."""
    own, others = scorings[index], [other for number, other in enumerate(scorings) if number != index]
    if not own.route.implies or own.route.proper:
        return own.route.title
    for size in range(1, len(ORDER) + 1):
        for axes in combinations(ORDER, size):
            values = [_axis(own, axis) for axis in axes]
            if all(values != [_axis(other, axis) for axis in axes] for other in others):
                return " · ".join(values if axes != ("B",) or _usual(own, scorings) else [*values, _axis(own, "T")])
    return own.title


def _usual(own: Scoring, scorings: Sequence[Scoring]) -> bool:
    """Whether most of the list have its training process: a behavior alone would mislead about an unusual one."""
    return 2 * sum(_axis(other, "T") == _axis(own, "T") for other in scorings) > len(scorings)


def numbered(labels: Sequence[str]) -> list[str]:
    """The labels behind their number in the list, counted from 1."""
    return [f"{index + 1}. {label}" for index, label in enumerate(labels)]


def known_as(scoring: Scoring) -> str | None:
    """The name under which the literature knows a scoring, whatever its damping and, of a run of plain descent, its
    steps; None where it has none."""
    if scoring.route.proper:
        return scoring.route.title
    process, plain = scoring.process, scoring
    numbers = process.model_dump()
    eta = numbers.get("eta", 0.1)
    usual = {name: type(process).model_fields[name].default for name in process.of_descent}
    if numbers.get("damping"):
        usual["damping"] = 0.0
    if usual:
        plain = Scoring.of(scoring.behavior, scoring.intervention, process.model_copy(update=usual), scoring.estimator)
    return next((method.title for method in NAMED.values() if _implied(method, scoring.behavior, eta) == plain), None)


def _implied(method: NamedMethod, behavior: str, eta: float) -> Scoring | None:
    """What a method asks of a behavior; None where it cannot score it, as one without a gradient."""
    try:
        return method.implied(behavior, eta)
    except InvalidInput:
        return None


def model_heading(name: str) -> str:
    """What a model is called in a list to choose from."""
    title = model_title(name)
    return title if title == name else capital(title)


def _axis(scoring: Scoring, axis: ChipAxis) -> str:
    if axis != ESTIMATOR:
        return scoring.axis(axis)
    return scoring.route.short_title
