"""Both sides of Eq. 7 for one training example, as a check of the re-optimising process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pandas as pd
from pydantic import Field

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Number
from engine.exact.path_integral import path_integral
from engine.problems import Problem
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.requests import Request
from engine.requests.fields import Differentiable
from engine.store.results import Store


@dataclass(frozen=True)
class PathTable:
    """path: a row a query, with both sides of Eq. 7 and the rates at the ends. gap: the largest difference of the
    sides; gradient_norm: the largest one at a point that was taken for an optimum."""

    path: pd.DataFrame
    gap: float
    gradient_norm: float


class PathIntegralRequest(Request[PathTable]):
    """Check re-optimisation: the derivative integrated along an upweighting path against the difference of its ends."""

    name: ClassVar = "path-integral"
    doing: ClassVar = "optima along the path"
    outputs: ClassVar = {"out": "Output table, one row per query."}

    example: Annotated[Count, Field(description="The training example that gains weight, counted from 0.")]
    alpha: Annotated[Number, Field(description="The weight at the end of the path.")] = 0.1
    behavior: Differentiable = "query_loss"
    nodes: Annotated[Count, Field(ge=1, le=200, description="Number of re-optimised points in between.")] = 8

    def title(self, problem: str) -> str:
        return f"Path of optima of training example {self.example} on {problem}"

    @property
    def trainings(self) -> float:
        return self.nodes + 2.0  # with both ends

    @property
    def quantities(self) -> dict[str, str]:
        readout = BEHAVIORS[self.behavior]
        return {"out": direction.named({"integral, difference": direction.change(readout),
                                        "first_rate, last_rate": direction.rate(readout)})}

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> PathTable:
        if self.alpha <= 0:
            raise InvalidInput(f"`alpha` is {self.alpha}; give a positive weight, such as 0.1.")
        readout = BEHAVIORS[self.behavior]
        if not readout.differentiable:
            raise InvalidInput(f"The behavior `{self.behavior}` has no gradient, so it has no rate along a path; use "
                               "another.")
        path = path_integral(problem, self.example, self.alpha, readout, nodes=self.nodes)
        table = pd.DataFrame({"query": range(len(path.integral)), "integral": path.integral.cpu(),
                              "difference": path.difference.cpu(), "first_rate": path.first.cpu(),
                              "last_rate": path.last.cpu()})
        return PathTable(table, path.gap, path.gradient_norm)

    def remarks(self, answer: PathTable) -> list[str]:
        return [f"largest gap between integral and difference {answer.gap:.1e}, largest gradient norm on the path "
                f"{answer.gradient_norm:.1e}"]
