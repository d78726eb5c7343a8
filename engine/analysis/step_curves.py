"""The agreement of a step's exact answer with its first-order term along η, of all candidates of a source, as a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from engine.analysis.error_curves import ETAS, PerQuery, step_agreement
from engine.basics.provenance import device_name
from engine.jobs import Context, Output
from engine.metrics.agreement import METRICS
from engine.problems import ProblemSource
from engine.problems.problem import pick_device
from engine.requests import JobRequest
from engine.requests.job import WHOLE
from engine.store.results import Result


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


class StepCurvesRequest(JobRequest[StepCurves]):
    """First order against exact over the grid `ETAS`, for every differentiable behavior of the source's problem."""

    name: ClassVar = "step_curves"
    answer: ClassVar = StepCurves

    source: ProblemSource

    @property
    def job_title(self) -> str:
        return f"Error curves over η on {self.source.title}"

    @property
    def contents(self) -> Mapping[str, str]:
        return self.source.contents

    def run_chunk(self, chunk: str, context: Context) -> Output:
        device = str(pick_device(context.device))
        problem = self.source.build(device).problem
        points = []
        for number, eta in enumerate(ETAS):
            context.progress(number / len(ETAS), "comparing steps")
            points.append(step_agreement(problem, eta))
        behaviors, metrics = tuple(points[0]), tuple(METRICS)
        values = np.array([[[at[name][metric] for metric in metrics] for at in points] for name in behaviors])
        output = self.stored(StepCurves(values, behaviors, ETAS, metrics))
        return Output(output.tables, output.arrays, {**output.manifest, "data": problem.fingerprint,
                                                     "device": device_name(device), "seeds": [self.source.seed]})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        whole = chunks[WHOLE]
        facts = {name: whole.manifest[name] for name in ("data", "device", "seeds")}
        output = self.stored(self.loaded(whole))
        return Output(output.tables, output.arrays, {**output.manifest, **facts})
