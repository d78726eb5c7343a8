"""A scoring: a specification together with the estimator that answers it, as written in spec.json.

A baseline answers none: its scoring is its name alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, SerializerFunctionWrapHandler, model_serializer, model_validator

from engine.basics.settings import parsed
from engine.basics.values import canonical_json, capital
from engine.estimators import ESTIMATORS, Estimator, configured, written
from engine.question.departure import Departure
from engine.question.interventions import AddOccurrence, Intervention
from engine.question.processes import OneStep, Process
from engine.question.specification import AXES, Axis, Specification

NOTHING = {"behavior": "query_loss", "intervention": AddOccurrence(), "process": OneStep(eta=1.0)}
"""Stands where a baseline has no specification; nothing reads it."""
NONE = "none"


class Scoring(Specification):
    """What spec.json holds: behavior, intervention, process and the estimator (default `exact`), with its settings:
    {"name": "lissa", "iterations": 1000} or `lissa;iterations=1000`, which is what it keeps.

    Raises `InvalidInput` for an unknown estimator, or one that cannot target the specification. Beside a baseline,
    behavior, intervention and process are not read, and may be left out.
    """

    estimator: Annotated[str, BeforeValidator(written)] = "exact"

    @model_validator(mode="before")
    @classmethod
    def _asks_nothing(cls, data: Any) -> Any:
        name = written(data.get("estimator")) if isinstance(data, Mapping) else None
        return {**data, **NOTHING} if isinstance(name, str) and is_baseline(name) else data

    @model_serializer(mode="wrap")
    def _written(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return serialize(self) if self.route.implies else {"estimator": self.estimator}

    @model_validator(mode="after")
    def _targets(self) -> Scoring:
        self.route.check(self.specification)
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
    def exact_answer(self) -> Scoring:
        """The exact answer to the same question."""
        return Scoring(behavior=self.behavior, intervention=self.intervention, process=self.process)

    @property
    def route(self) -> Estimator:
        return configured(self.estimator)

    @property
    def exact(self) -> bool:
        return self.route.exact

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Where the question that its estimator answers is another one than the specification's: the implied S."""
        return self.route.implied(self.intervention)

    @property
    def orientation(self) -> int:
        """+1, or −1 for `remove` and for a negative α; of a baseline +1."""
        return super().orientation if self.route.implies else 1

    def axis(self, axis: Axis) -> str:
        return super().axis(axis) if self.route.implies else NONE

    def clause(self, axis: Axis) -> str:
        return super().clause(axis) if self.route.implies else NONE

    def differing_axes(self, other: Specification) -> tuple[Axis, ...]:
        """Those on which two differ; between a baseline and what asks something all of them, between two baselines
        none."""
        asking = [not (isinstance(one, Scoring) and not one.route.implies) for one in (self, other)]
        return super().differing_axes(other) if all(asking) else AXES if any(asking) else ()

    def plain_question(self, behavior: str = "") -> str:
        return super().plain_question(behavior) if self.route.implies else self.question

    @property
    def question(self) -> str:
        """The counterfactual question in one English sentence; that a baseline asks none."""
        if self.route.implies:
            return super().question
        title = self.route.title
        return f"{capital(title)} implies no specification and answers no counterfactual question."

    @property
    def latex(self) -> str:
        return super().latex if self.route.implies else r"\text{no specification}"

    @property
    def finite(self) -> bool:
        """Whether its scores are differences of a behavior at two models, not derivatives of it."""
        return self.exact and not self.process.derivative

    @property
    def wide(self) -> bool:
        """Whether it is computed in float64 unless another precision is asked for: what is subtracted, and what is
        carried through many steps."""
        return self.finite or (self.process.double and (self.exact or self.process.derivative))

    @property
    def counterfactual(self) -> tuple[Hashable, ...]:
        """What scorings have in common that are read off the same counterfactual models.

        Words of a user's are columns beside those of other behaviors, by whose size rounding is judged too: they have
        theirs to themselves, unless every model is trained for it.
        """
        return self.process, self.estimator, None if self.process.whole_objective else self.readout.words

    @property
    def title(self) -> str:
        if not self.route.implies:
            return f"no specification · {self.route.title}"
        return super().title if self.exact else f"{super().title} · {self.route.title}"

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, estimator included."""
        return hashlib.sha256(canonical_json(self.canonical()).encode()).hexdigest()


def is_baseline(estimator: str) -> bool:
    """Whether the name, with settings or without, is that of a baseline, which implies no specification."""
    name, _ = parsed(estimator)
    return name in ESTIMATORS and not ESTIMATORS[name].implies
