"""A scorecard as a request: one chunk a benchmark, over all methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import pandas as pd
from pydantic import Field

from engine.analysis.protocols import PROTOCOLS
from engine.analysis.scorecard import card, reasons
from engine.analysis.scorecard.benchmark import BENCHMARKS, CEILING, Benchmark, Case, Sizes, removal, running
from engine.analysis.scorecard.method import card_method, defined, fitting
from engine.analysis.scorecard.sized import SizedRequest
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.problems import Problem
from engine.requests import Option
from engine.requests.fields import StoredScoring
from engine.scoring import codes
from engine.scoring.cost import guess
from engine.store.results import Result, Store


@dataclass(frozen=True)
class Scorecard:
    """scorecard: a row a benchmark, measure and method."""

    scorecard: pd.DataFrame


class ScorecardRequest(SizedRequest[Scorecard]):
    """Run benchmarks of attribution methods, and name the question of each.

    methods, benchmarks: their names, a method's with settings where it has any; none: all that fit. scores: of other
    programs, which are measured where a benchmark asks about the problem's own model: those that train it without some
    examples. Raises `InvalidInput` for names that are not known, and for those that the model has no answer for.
    """

    name: ClassVar = "scorecard"
    numerics: ClassVar = 4
    """4: a model of subclasses has one output for each pair, a row is at distance 0 from itself, and likelihoods keep
    their digits."""
    doing: ClassVar = "benchmarks"
    outputs: ClassVar = {"out": "Output card, one row per benchmark, measure and method."}

    sizes: Annotated[Sizes, Option(parts=(
        "models", "queries", "repeats", "seeds", "seed", "protocol", "among"))] = Sizes()
    behavior: Annotated[str, Field(description="Behaviors; see `list`.")] = "query_loss"
    methods: Annotated[tuple[str, ...], Option("method"), Field(description=(
        "A method, with settings of its estimator as `trak;dimension=2048`; repeatable (default: all that "
        "apply)."))] = ()
    benchmarks: Annotated[tuple[str, ...], Option("benchmark"), Field(description=(
        "A benchmark; repeatable (default: all but `tail_patch`)."))] = ()
    scores: Annotated[tuple[StoredScoring, ...], Option(read="scores")] = ()

    def title(self, problem: str) -> str:
        return f"Scorecard of {problem}"

    def before(self, problem: Problem) -> Iterator[str]:
        """How often each benchmark trains, and about how long that takes."""
        for benchmark in (BENCHMARKS[name] for name in self.benchmarks):
            if count := benchmark.trainings(self.sizes, len(self.methods)):
                seconds = guess([removal(self.behavior)], problem, count)
                yield (f"{benchmark.title}: up to {count:,} training runs, in addition to those of the methods; about "
                       f"{max(1.0, seconds):,.0f} s on two cores.")

    def sentences(self, answer: Scorecard) -> Iterator[str]:
        for name in self.benchmarks:
            yield from self._of_benchmark(BENCHMARKS[name], answer.scorecard[answer.scorecard["benchmark"] == name])

    def _of_benchmark(self, benchmark: Benchmark, table: pd.DataFrame) -> Iterator[str]:
        """Its question, its protocol, its ceilings, and what its scores do not show."""
        yield f"{benchmark.title}: {benchmark.question}"
        if benchmark.retrains:
            protocol = PROTOCOLS[self.sizes.protocol]
            yield f"  Protocol `{protocol.name}`: {protocol.definition} Its estimand: {protocol.estimand}"
        for _, row in table[table["method"] == CEILING].iterrows():
            yield f"  {card.counted(row)}"
        for sentence in [*card.verdicts(benchmark, table, self.behavior),
                         *(one for measure in table["measure"].unique()
                           for one in reasons.reasons(benchmark, table, measure))]:
            yield f"  {sentence}"

    def fitted(self, problem: type[Problem]) -> Self:
        check(problem, self.methods, self.benchmarks)
        return self.model_copy(update={"methods": self.methods or tuple(fitting(problem)),
                                       "benchmarks": self.benchmarks or tuple(running(problem))})

    @property
    def chunks(self) -> list[str]:
        return list(self.benchmarks)

    def weight(self, chunk: str) -> float:
        """In trainings, those of the methods among them."""
        return float(BENCHMARKS[chunk].trainings(self.sizes, len(self.methods)) + 2 * len(self.methods))

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Scorecard:
        benchmark = BENCHMARKS[chunk]
        external = [codes.encode(scoring) for scoring in self.scores] if benchmark.retrains else []
        case = Case(problem, [*self.methods, *external], self.behavior, self.sizes, store, options)
        return Scorecard(card.rows(benchmark, benchmark.measure(case), self.sizes))

    @classmethod
    def loaded(cls, result: Result) -> Scorecard:
        """A card of an earlier version had the protocol `weights`."""
        return Scorecard(card.with_older(result.table("scorecard")))

    def parameters(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json", exclude=None if self.scores else {"scores"}),
                "candidates": self.sizes.candidates}


def check(problem: type[Problem], methods: Sequence[str], benchmarks: Sequence[str] = ()) -> None:
    """Raises `InvalidInput` for methods that have no answer for a model, and benchmarks that cannot be run on it."""
    for name in [card_method(name).name for name in methods]:
        if not defined(name, problem):
            raise InvalidInput(_undefined(name, problem, fitting(problem)))
    for name in benchmarks:
        if not BENCHMARKS[name].fits(problem):
            raise InvalidInput(_undefined(name, problem, [one.name for one in BENCHMARKS.values() if one.fits(problem)])
                               )


def _undefined(name: str, problem: type[Problem], known: Sequence[str]) -> str:
    return f"`{name}` is not defined for {problem.noun}; choose from {', '.join(known)}."
