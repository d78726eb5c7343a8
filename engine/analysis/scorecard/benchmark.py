"""What a benchmark is: a measurement of rankings, and the question that it asks without saying so."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from engine.analysis import options as texts
from engine.analysis.protocols import ProtocolName
from engine.analysis.scorecard.method import card_method
from engine.analysis.subset_bank import Among
from engine.basics.options import Options
from engine.basics.registry import Registry
from engine.basics.values import Count, Number, Seed, Value
from engine.problems import Problem
from engine.scoring.scoring import Scoring
from engine.store.results import Store

CEILING = "another_seed"
"""In place of a method: what the exact answer of another training seed reaches."""
OTHER = ", other seed"
"""Ends the name of a measure that holds scores of one training seed against models of another."""


@dataclass(frozen=True)
class SeedValues:
    """Values of a measure (R, m): a row a training seed, a column a query, NaN where there is none.

    subsets: how many models on subsets stand behind each; 0 where there are none. subset_error: the standard error of
    the mean that comes from the draw of these subsets; NaN where it was not measured.
    """

    values: np.ndarray
    subsets: int = 0
    subset_error: float = math.nan


Measured = Mapping[str, np.ndarray | SeedValues]
"""Name of a measure, such as `top 10%` -> values, one a query or one a repetition; NaN where there is none."""
Share = Annotated[Number, Field(gt=0, lt=1)]


class Sizes(Value):
    """How much a scorecard measures, and how models without some examples are trained.

    candidates: those scored. models: on subsets, of each of `fractions` kept. queries: for which the top `removed`
    shares are removed, each with a training of its own. repeats: of damage to the data. flipped: share of wrong labels.
    planted: share of a class with a shortcut, or of examples from elsewhere. seeds: trainings, each with a seed of its
    own, the problem's the first. top: how many count as the top. protocol, among: how models on subsets are trained,
    and what the subsets are drawn from; see `engine.analysis.subset_bank.Draw`. Sizes of an earlier version, which name
    neither, had their defaults.
    """

    candidates: Annotated[Count, Field(ge=10, le=100_000)] = 200
    models: Annotated[Count, Field(ge=3, le=10_000, description="Models on subsets, of each size.")] = 50
    fractions: tuple[Share, ...] = (0.5, 0.75, 0.9)
    queries: Annotated[Count, Field(ge=1, le=10_000, description="Queries whose top is removed.")] = 10
    removed: tuple[Share, ...] = (0.01, 0.05, 0.1)
    repeats: Annotated[Count, Field(ge=1, le=100, description="Repetitions with other marks on the data.")] = 3
    flipped: Share = 0.1
    planted: Share = 0.1
    seeds: Annotated[Count, Field(ge=2, le=100, description="Training seeds: ceilings, spread, stability.")] = 3
    top: Annotated[Count, Field(ge=1, le=10_000)] = 10
    seed: Annotated[Seed, Field(description="Seed of subsets and marks.")] = 0
    protocol: Annotated[ProtocolName, Field(description=texts.PROTOCOL)] = "weights"
    among: Annotated[Among, Field(description=texts.AMONG)] = "candidates"


@dataclass(frozen=True, eq=False)
class Case:
    """One problem with the methods to be measured, and where models on subsets are kept."""

    problem: Problem
    methods: Sequence[str]
    behavior: str
    sizes: Sizes
    store: Store
    options: Options = field(default_factory=Options)

    def scores(self, problem: Problem, options: Options) -> dict[str, np.ndarray]:
        """Oriented scores (m, k) on a problem of every method that has any there: those of other programs are of the
        problem at hand alone."""
        own = problem is self.problem
        return {name: card_method(name).scores(problem, self.behavior, options.stage(index, len(self.methods)))
                for index, name in enumerate(self.methods) if own or card_method(name).computes}


@dataclass(frozen=True)
class Benchmark:
    """One measurement of rankings. measure: (case) -> method -> measures.

    asks: the specification whose exact answer is sought, for a behavior; None where nothing counterfactual is sought,
    and then `sought` says what is. question: the same as a sentence. better: `larger` or `smaller` (nearer to zero).
    source: who defined it. reads: the problems that it can be run on, by what their behaviors read.
    trainings: (sizes, number of methods) -> how often it trains at most, beside what the methods themselves do.
    retrains: whether it trains models without some examples, so that the protocol is a part of what it asks. chance:
    what scores that know nothing have in the mean; None where that depends on the data. usual: whether a card has it
    where no benchmark is named.
    """

    name: str
    title: str
    definition: str
    question: str
    source: str
    measure: Callable[[Case], dict[str, Measured]]
    asks: Callable[[str], Scoring] | None = None
    sought: str = ""
    better: str = "larger"
    reads: tuple[str, ...] = ("classes", "tokens")
    trainings: Callable[[Sizes, int], int] = lambda sizes, methods: 0
    retrains: bool = False
    chance: float | None = None
    usual: bool = True

    def fits(self, problem: type[Problem]) -> bool:
        """Whether it can be run on problems of a class."""
        return problem.reads in self.reads


BENCHMARKS: Registry[Benchmark] = Registry("benchmark")


def running(problem: type[Problem]) -> list[str]:
    """The usual benchmarks that can be run on problems of a class."""
    return [name for name, benchmark in BENCHMARKS.items() if benchmark.usual and benchmark.fits(problem)]


def removal(behavior: str) -> Scoring:
    """Leave-one-out by training again."""
    return Scoring.of(behavior, {"kind": "remove"}, {"kind": "retrain"})
