"""What requests about several methods have in common: the sizes of their benchmarks, and what fits a problem."""

from __future__ import annotations

from typing import ClassVar, Self

from engine.analysis.scorecard.benchmark import Sizes
from engine.problems import Problem, ProblemSource
from engine.requests import Answer, Request


class SizedRequest(Request[Answer]):
    """Base of requests that fill in what fits a class of problems, and read the first of its candidates."""

    shared: ClassVar = True

    sizes: Sizes = Sizes()
    trainings: ClassVar[float] = 1.0

    def fitted(self, problem: type[Problem]) -> Self:
        """With all that fits where nothing is named. Raises `InvalidInput` for what does not fit."""
        raise NotImplementedError

    def of(self, source: ProblemSource) -> Self:
        return super().of(source).fitted(source.problem_class)

    def of_problem(self, problem: Problem) -> Self:
        return self.fitted(type(problem))

    def of_command(self, problem: Problem) -> Self:
        """Of all its candidates."""
        sizes = self.sizes.model_copy(update={"candidates": max(10, len(problem.candidates))})
        return self.model_copy(update={"sizes": sizes}).of_problem(problem)

    def narrowed(self, problem: Problem) -> Problem:
        return problem.with_candidates(problem.candidates[:self.sizes.candidates])
