"""Scores from elsewhere: what they claim to answer, which way round they stand, and what their sign means.

A claim is a scoring whose scores were not computed here. It says which specification they are meant for, so that
verdicts, comparisons and explanations hold for them as for every other approximate answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from pydantic import field_validator, model_validator

from engine.basics.errors import InvalidInput
from engine.estimators import Estimator
from engine.estimators.cost import NOTHING
from engine.external.matching import LISTED, arranged, unusable_queries, unusable_sentence
from engine.external.table import Table
from engine.metrics.agreement import Agreement, constant, pairwise, summarize
from engine.metrics.subsets import over_known
from engine.problems import Problem
from engine.question.specification import Specification
from engine.scoring.convergence import Convergence
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring

ESTIMATOR = "brought"
SIGNS = {1: "plus", -1: "minus"}
MEANING = {1: "a larger score means that the example supports the behavior",
           -1: "a larger score means that the example works against the behavior"}


class Claim(Scoring):
    """A specification that scores from elsewhere claim, as plain data with their name.

    estimator: `brought:` and the fingerprint of the scores, so that two arrays are never taken for one.
    """

    estimator: str = ESTIMATOR
    name: str

    @model_validator(mode="after")
    def _targets(self) -> Claim:
        return self

    @field_validator("name")
    @classmethod
    def _a_line(cls, name: str) -> str:
        if not name.strip() or not name.isprintable() or len(name) > 100:
            raise InvalidInput("The name of the scores is not a line of 1 to 100 letters; give them one.")
        return name.strip()

    @classmethod
    def to(cls, specification: Specification, name: str, content: str = "") -> Claim:
        return cls.parse({"behavior": specification.behavior, "intervention": specification.intervention,
                          "process": specification.process, "name": name, "estimator": f"{ESTIMATOR}:{content}"})

    @property
    def route(self) -> Estimator:
        return Estimator(ESTIMATOR, self.name, False, "Scores that were computed elsewhere.", cost=NOTHING)

    @property
    def reference(self) -> Scoring:
        """The exact answer to what is claimed."""
        return self.exact_answer


def bring(problem: Problem, table: Table, specification: Specification, name: str, axes: str, sign: int,
          decision: Mapping[str, Any] | None = None, order: str = LISTED) -> Scores:
    """The table as `Scores` of the problem. sign: +1 where a larger score supports the behavior, else −1;
    decision: how it was decided, as `engine.external.reading.Preview.decision` gives it. order: of training examples
    without names.

    A query fewer than half of whose scores are finite is left out: all its scores are 0, which rank nothing. A
    training example with a score that is not finite for another query is flagged as not converged. Raises
    `InvalidInput` for a sign that is neither, a shape that does not fit, or nothing finite.
    """
    if sign not in SIGNS:
        raise InvalidInput(f"The sign is {sign}; give 1 where a larger score supports the behavior, or −1.")
    oriented = sign * arranged(problem, table, axes, order)
    left_out = unusable_queries(oriented)
    usable = np.isfinite(np.delete(oriented, left_out, 0)).all(0)
    if len(left_out) == len(oriented) or not usable.any():
        raise InvalidInput("Every training example has a score that is not finite; mend the scores before bringing "
                           "them.")
    content = hashlib.sha256(np.ascontiguousarray(oriented).tobytes()).hexdigest()[:16]
    claim = Claim.to(specification, name, content)
    values = np.where(usable, claim.orientation * oriented, 0.0)
    values[left_out] = 0.0
    provenance: dict[str, Any] = {
        "spec": claim.canonical(), "digest": claim.digest, "question": claim.question,
        "orientation": claim.orientation, "exact": False, "data": problem.fingerprint,
        "sizes": {"train": problem.n, "queries": len(problem.queries), "candidates": len(problem.candidates),
                  **problem.sizes},
        "brought": {"axes": axes, "order": order, "sign": SIGNS[sign],
                    "sign_decided": dict(decision or {"by": "not said"}), "array": table.name,
                    "shape": list(table.values.shape), "queries_left_out": left_out.tolist(),
                    "note": unusable_sentence(left_out.tolist())},
        "convergence": Convergence.measured(False, usable, np.zeros(len(usable)), {}).written,
        "device": "brought", "wall_seconds": 0.0,
    }
    return Scores(claim, values, problem.candidates.cpu().numpy(), usable, np.zeros(len(usable)), provenance)


def agreement_with(reference: Scores, external: Scores, metrics: Iterable[str]) -> dict[str, Agreement]:
    """metric -> agreement of external scores with the exact ones over the candidates that both have."""
    both = Together.of([reference, external])
    values_of = over_known(partial(_measures, metrics=tuple(metrics)), both.stack, both.known, both.signs)
    return {name: summarize(values[0, 1], interval_over="queries") for name, values in values_of.items()}


def _measures(stack: np.ndarray, *, metrics: Sequence[str]) -> dict[str, np.ndarray]:
    """Every metric of all pairs, NaN for a query that one array ranks as constant."""
    flat = constant(stack).any(0)
    return {name: np.where(flat, np.nan, values) for name, values in pairwise(stack, metrics).items()}
