"""A scoring: a specification together with the estimator that answers it, as written in spec.json."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from typing import Any

from pydantic import model_validator

from engine.basics.values import canonical_json
from engine.estimators import ESTIMATORS, Estimator
from engine.question.departure import Departure
from engine.question.interventions import Intervention
from engine.question.processes import Process
from engine.question.specification import Specification


class Scoring(Specification):
    """What spec.json holds: behavior, intervention, process and the estimator's name (default `exact`).

    Raises `InvalidInput` for an unknown estimator, or one that cannot target the specification.
    """

    estimator: str = "exact"

    @model_validator(mode="after")
    def _targets(self) -> Scoring:
        ESTIMATORS[self.estimator].check(self.specification)
        return self

    @classmethod
    def of(cls, behavior: str, intervention: Intervention | Mapping[str, Any], process: Process | Mapping[str, Any],
           estimator: str = "exact") -> Scoring:
        return cls.parse({"behavior": behavior, "intervention": intervention, "process": process,
                          "estimator": estimator})

    @property
    def specification(self) -> Specification:
        """The estimand alone, without the estimator."""
        return Specification(behavior=self.behavior, intervention=self.intervention, process=self.process)

    @property
    def route(self) -> Estimator:
        return ESTIMATORS[self.estimator]

    @property
    def exact(self) -> bool:
        return self.route.exact

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Where the question that its estimator answers is another one than the specification's: the implied S."""
        return self.route.implied(self.intervention)

    @property
    def finite(self) -> bool:
        """Whether its scores are differences of a behavior at two models, not derivatives of it."""
        return self.exact and not self.process.derivative

    @property
    def counterfactual(self) -> tuple[Hashable, ...]:
        """What scorings have in common that are read off the same counterfactual models.

        Words of a user's are columns beside those of other behaviors, by whose size rounding is judged too: they have
        theirs to themselves, unless every model is trained for it.
        """
        return self.process, self.estimator, None if self.process.whole_objective else self.readout.words

    @property
    def title(self) -> str:
        return super().title if self.exact else f"{super().title} · {self.route.title}"

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, estimator included."""
        return hashlib.sha256(canonical_json(self.canonical()).encode()).hexdigest()
