"""What an answer costs on a network, counted in passes of examples through it. Every estimator states its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from engine.question.processes import Process, Replay

FORWARD_AND_BACKWARD, CURVATURE = 3, 5
"""What a gradient, and a product with the Hessian, cost in forward passes of the same examples."""
BATCH = 128
"""Examples a step of training, where no recipe says it."""
RUN = 15
"""What a training with the graphs of its steps costs in forward passes of the same examples."""


@dataclass(frozen=True)
class Work:
    """What is to be answered: a process for so many training examples, queries, candidates and parameters of a network
    whose training takes so many epochs in batches of so many examples. reach: the fraction of a forward pass from the
    first of these parameters on; backward passes go no further."""

    process: Process
    n: int
    queries: int
    candidates: int
    parameters: int
    epochs: int
    batch: int = BATCH
    reach: float = 1.0

    @property
    def gradient(self) -> float:
        """What a gradient costs, in forward passes of the same examples."""
        return 1 + (FORWARD_AND_BACKWARD - 1) * self.reach

    @property
    def steps(self) -> float:
        """Of the trainings that a process of several seeds repeats."""
        return (self.process.seeds if isinstance(self.process, Replay) else 1) * self.epochs * self.n / self.batch

    @property
    def columns(self) -> int:
        """Of a derivative through a training, by the cheaper direction."""
        return min(self.queries, self.candidates)


class Passes(NamedTuple):
    """Examples passed forward, or as much work, in so many calls."""

    examples: float
    calls: float


@dataclass(frozen=True)
class Cost:
    """passes: what all behaviors of a scoring share. for_each_output: candidates are differentiated anew for each
    output that queries raise. for_each_behavior: nothing is shared by behaviors. eigenbases: how many softmax
    regression takes of its Hessian."""

    passes: Callable[[Work], Passes]
    for_each_output: bool = False
    for_each_behavior: bool = False
    eigenbases: int = 0

    def scaled(self, effort: float, trainings: int = 0) -> Cost:
        """The cost of so many times the work, and of further trainings."""
        def passes(work: Work) -> Passes:
            examples, calls = self.passes(work)
            return Passes(effort * examples + trainings * FORWARD_AND_BACKWARD * work.epochs * work.n,
                          effort * calls + trainings * 2 * work.epochs * work.n / work.batch)

        return self if effort == 1 and not trainings else replace(self, passes=passes)


def gradients(work: Work) -> Passes:
    """A gradient of every candidate and query at each model that the process visits."""
    models = work.process.models
    return Passes(work.gradient * models * (work.candidates + work.queries), 2.0 * models)


def products(each: float, most: int | None = None) -> Callable[[Work], Passes]:
    """So many products with the curvature of all n examples a candidate, or for `most` of the candidates."""
    def passes(work: Work) -> Passes:
        made = each * (work.candidates if most is None else min(most, work.candidates))
        return Passes(work.n * (work.gradient + CURVATURE * work.reach * (made + 4)), made / 4)

    return passes


def through_steps(each: float) -> Callable[[Work], Passes]:
    """A column through every step of a training, which costs `each` forward passes of the step's examples."""
    return lambda work: Passes(work.batch * work.steps * (RUN + each * work.columns),
                               work.steps * (20 + work.columns / 2))


def with_training_set(work: Work) -> Passes:
    """A gradient of every training example, candidate and query."""
    return Passes(work.gradient * (work.n + work.candidates + work.queries), 3.0)


GRADIENTS = Cost(gradients)
WITH_TRAINING_SET = Cost(with_training_set)
NOTHING = Cost(lambda work: Passes(0.0, 0.0))
"""Of what reads no model."""
