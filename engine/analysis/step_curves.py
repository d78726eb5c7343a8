"""The agreement of a step's exact answer with its first-order term along η, of all candidates of a source, as a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.analysis.error_curves import ETAS, PerQuery, step_agreement
from engine.basics.options import Options
from engine.metrics.agreement import METRICS
from engine.problems import Problem
from engine.requests import Request
from engine.store.results import Store


@dataclass(frozen=True, eq=False)
class StepCurves:
    """values (b, e, k, m): agreement by behavior, step size, metric and query."""

    values: np.ndarray
    behaviors: tuple[str, ...]
    etas: tuple[float, ...]
    metrics: tuple[str, ...]

    def at(self, eta: float) -> dict[str, PerQuery] | None:
        """behavior -> metric -> (m,) at one of the step sizes; None at another."""
        if eta not in self.etas:
            return None
        here = self.values[:, self.etas.index(eta)]
        return {name: dict(zip(self.metrics, rows, strict=True))
                for name, rows in zip(self.behaviors, here, strict=True)}


class StepCurvesRequest(Request[StepCurves]):
    """First order against exact over the grid `ETAS`, for every differentiable behavior of the source's problem."""

    name: ClassVar = "step_curves"
    doing: ClassVar = "comparing steps"

    def title(self, problem: str) -> str:
        return f"Error curves over η on {problem}"

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> StepCurves:
        points = []
        for number, eta in enumerate(ETAS):
            options.progress(number / len(ETAS))
            points.append(step_agreement(problem, eta))
        behaviors, metrics = tuple(points[0]), tuple(METRICS)
        values = np.array([[[at[name][metric] for metric in metrics] for at in points] for name in behaviors])
        return StepCurves(values, behaviors, ETAS, metrics)
