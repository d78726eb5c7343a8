"""What an answer is without the departures of its estimator: the stations from it to a plain first-order term.

An estimator that normalises updates, or moves the last layer alone, answers another question than its specification
says (`engine.question.departure`). No exact answer stands there, but the approximation without the departure does:
LESS without its lengths is an inner product along Adam's updates, and without those TracIn. So each departure is a
cause of its own, and what is left is the approximation error of the plain estimator.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from engine.basics.errors import InvalidInput
from engine.estimators import ESTIMATORS
from engine.question.departure import ADAM, ALL_PARAMETERS, LAST_LAYER, NORMALISED, Departure
from engine.scoring.scoring import Scoring

PLAIN = "first_order"
"""The estimator that departs from nothing, where a training loss moves the model."""
TITLES: Mapping[Departure, str] = {
    NORMALISED: "the normalisation", ADAM: "the preconditioning by Adam's moments", LAST_LAYER: "the last layer alone",
    ALL_PARAMETERS: "the parameters other than the readout"}


def title(departure: Departure) -> str:
    """What a sentence calls a departure as a cause."""
    return TITLES.get(departure, f"the {departure.title}")


def plain(scoring: Scoring) -> Scoring | None:
    """The same question answered without departures; the scoring itself where it has none, None where nothing is known
    to do so. A step on a linear readout has no first-order error, so that its plain answer is the exact one."""
    return scoring if not scoring.departures else answered(
        scoring, "exact" if scoring.intervention.label_free else PLAIN)


def departing(scoring: Scoring, departures: Collection[Departure]) -> Scoring | None:
    """The same question answered with these of its departures alone, by the first estimator that does."""
    if not departures:
        return plain(scoring)
    kept = set(departures)
    for estimator in ESTIMATORS.values():
        if set(estimator.implied(scoring.intervention)) == kept and (other := answered(scoring, estimator.name)):
            return other
    return None


def answered(scoring: Scoring, estimator: str) -> Scoring | None:
    """The same question answered by an estimator; None where it does not answer it."""
    try:
        return Scoring.of(scoring.behavior, scoring.intervention, scoring.process, estimator)
    except InvalidInput:
        return None
