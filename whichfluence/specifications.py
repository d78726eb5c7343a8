"""A specification as a library's user writes it: three values in a row, and the estimator that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.basics.errors import InvalidInput
from engine.estimators import written
from engine.question.interventions import Intervention
from engine.question.processes import Process
from engine.question.specification import Specification as Question
from engine.scoring.scoring import Scoring


class Specification(Scoring):
    """S = (B, P, T), the question, with the estimator that answers it (paper, Eq. 1).

    Args:
        behavior: the name of B, such as `"query_loss"`; `wf.behaviors()` lists them. Larger values are better for every
            behavior: `query_loss` is the log-likelihood of the query's label, minus its cross-entropy.
        intervention: P, such as `wf.Remove()`, or the dictionary that spec.json holds.
        process: T, such as `wf.Reoptimize()`, or the dictionary that spec.json holds.
        estimator: `"exact"`, or the name of an approximation; `wf.estimators()` lists them.

    Raises:
        InvalidInput: for a name that there is not, a parameter out of range, an intervention that the process cannot
            carry out, or an estimator that does not target the specification.

    >>> import whichfluence as wf
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    >>> step.by("first_order").estimator
    'first_order'
    """

    def __init__(self, behavior: str, intervention: Intervention | Mapping[str, Any],
                 process: Process | Mapping[str, Any], estimator: str = "exact") -> None:
        checked = Scoring.of(behavior, intervention, process, estimator)  # a fault is one sentence there
        super().__init__(behavior=checked.behavior, intervention=checked.intervention, process=checked.process,
                         estimator=estimator)

    def by(self, estimator: str, **settings: Any) -> Specification:
        """The same question, answered by another estimator: `step.by("lissa", iterations=1000)`. `wf.estimators()` says
        which settings it has. Raises `InvalidInput` where it does not target the question, or has no such setting."""
        return Specification(self.behavior, self.intervention, self.process, written({"name": estimator, **settings}))


def scoring_of(question: Mapping[str, Any] | Question) -> Scoring:
    """The question, as the engine has it; of a specification without an estimator the exact answer.

    Raises `InvalidInput` for what is no specification.
    """
    if isinstance(question, Mapping):
        return Scoring.parse(question)
    if not isinstance(question, Question):
        raise InvalidInput(f"A {type(question).__name__} is not a specification; give `wf.Specification(behavior, "
                           "intervention, process)`, or what spec.json holds as a dictionary.")
    return Scoring.read(question.canonical())
