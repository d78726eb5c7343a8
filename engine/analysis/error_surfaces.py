r"""Approximation error over two parameters at once: the surfaces of which the error curves are slices.

`steps`: after s steps of size η on z_k alone, the exact response against its first-order term −ηs ⟨∇B, ∇ℓ⟩, over
η × s; the curve over η is the slice at s = 1.

`damping`: upweighting by α and re-optimising, against the inverse-Hessian derivative with damping δ, −(H + δI)⁻¹ g,
over α × δ; the curve over α, solved by Cholesky, is the slice at δ = 0. With δ > 0 the derivative is that of a damped
question, so what is lost there is not the solver's fault.

Neither approximation's ranking depends on η, s or α, which only scale it: all change along these is the truth's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine.analysis.error_curves import agreement
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.registry import Registry
from engine.metrics.agreement import METRICS, summarize
from engine.problems import Problem
from engine.question.behaviors import BEHAVIORS
from engine.requests import OfCandidates
from engine.requests.fields import Differentiable
from engine.scoring.compute import compute
from engine.scoring.controlled import ALPHAS, ETAS, response_scoring, upweight_scoring
from engine.scoring.scoring import Scoring
from engine.store.results import Result, Store
from engine.store.sketch import Grid, Sketch

STEPS = (1, 2, 3, 5, 10, 20)
DAMPINGS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


@dataclass(frozen=True)
class ErrorSurface:
    """rows, columns: the two grids, with their symbols; the first column is the error curve.

    scorings(behavior, value): those of the truths and of the approximations in the row of `value`, one a column.
    convex: whether it needs the optimum of the intervened objective.
    """

    name: str
    title: str
    symbols: tuple[str, str]
    rows: tuple[float, ...]
    columns: tuple[float, ...]
    scorings: Callable[[str, float], tuple[list[Scoring], list[Scoring]]]
    convex: bool = False

    def refusal(self, problem: type[Problem]) -> str | None:
        """Why a class of problems has no such surface, as a sentence; None where it has."""
        if problem.reads != "classes":
            return "Error surfaces are computed for classifiers only."
        if self.convex and not problem.convex:
            return ("This surface needs the optimum of the intervened objective, but a network trained by stochastic "
                    "gradient descent is not at an optimum.")
        return None


@dataclass(frozen=True)
class SurfaceAgreement:
    """Agreement of approximation and truth by metric, each (rows, columns, m); a part of one row is (1, columns, m)."""

    kendall_tau: np.ndarray
    top_overlap: np.ndarray
    sign_agreement: np.ndarray

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """metric -> values."""
        return vars(self)


class ErrorSurfaceRequest(OfCandidates[SurfaceAgreement]):
    """Compare first-order steps, or the damped inverse Hessian, with the exact answer over two parameters."""

    name: ClassVar = "error-surface"
    numerics: ClassVar = 2
    doing: ClassVar = "rows of the surface"
    outputs: ClassVar = {"out": "Output table, one row per point and metric."}
    shared: ClassVar = True

    surface: Annotated[str, Field(description="`steps`: step size and number of steps; `damping`: weight and damping."
                                  )] = "steps"
    behavior: Differentiable = "query_loss"

    def title(self, problem: str) -> str:
        return f"Error surface of {BEHAVIORS[self.behavior].title} over {SURFACES[self.surface].title}, {problem}"

    @property
    def chunks(self) -> list[str]:
        return [repr(value) for value in SURFACES[self.surface].rows]

    @property
    def computed(self) -> Sequence[Scoring]:
        surface = SURFACES[self.surface]
        return list(dict.fromkeys(one for ends in surface.scorings(self.behavior, surface.rows[0]) for one in ends))

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> SurfaceAgreement:
        row = surface_row(problem, self.surface, self.behavior, float(chunk), options)
        return SurfaceAgreement(**{metric: values[None] for metric, values in row.items()})

    def tables(self, answer: SurfaceAgreement, problem: Problem) -> list[pd.DataFrame]:
        return [summarized(self.surface, answer.metrics)]

    @classmethod
    def sketch(cls, result: Result) -> Sketch:
        """Mean Kendall τ over queries, as a grid."""
        return Grid.of(result.array("kendall_tau").mean(-1), -1.0, 1.0, "Error surface: mean Kendall τ")


def surface_row(problem: Problem, surface: str, behavior: str, value: float, options: Options | None = None
                ) -> dict[str, np.ndarray]:
    """metric -> (columns, m): the agreement of approximation and truth in one row of the surface, per query.

    Raises `InvalidInput` for a problem or a behavior that has none.
    """
    chosen = SURFACES[surface]
    refusal = chosen.refusal(type(problem))
    if refusal:
        raise InvalidInput(refusal)
    if not BEHAVIORS[behavior].differentiable:
        raise InvalidInput(f"The behavior `{behavior}` has no gradient, so it has no first-order approximation; use "
                           "another.")
    truths, approximations = chosen.scorings(behavior, value)
    scored = dict(zip(scorings := [*dict.fromkeys([*truths, *approximations])],
                      compute(problem, scorings, (options or Options()).beside_exact), strict=True))
    agreements = [agreement(scored[truth], scored[other]) for truth, other in zip(truths, approximations, strict=True)]
    return {metric: np.stack([one[metric] for one in agreements]) for metric in METRICS}


def summarized(surface: str, metrics: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """One row a point and metric: the mean over queries with its 95% t-interval. metrics: metric -> (rows, columns, m).
    """
    chosen, rows = SURFACES[surface], []
    for (i, value), (j, other) in product(enumerate(chosen.rows), enumerate(chosen.columns)):
        for metric, values in metrics.items():
            mean = summarize([values[i, j]], interval_over="queries")
            rows.append({chosen.symbols[0]: value, chosen.symbols[1]: other, "metric": metric, **mean.columns})
    return pd.DataFrame(rows)


def _unrolled(behavior: str, eta: float) -> tuple[list[Scoring], list[Scoring]]:
    def steps(number: int, estimator: str) -> Scoring:
        process = {"kind": "unrolled", "eta": eta, "steps": number}
        return Scoring.of(behavior, {"kind": "add_occurrence"}, process, estimator)

    return [steps(number, "exact") for number in STEPS], [steps(number, "first_order") for number in STEPS]


def _damped(behavior: str, alpha: float) -> tuple[list[Scoring], list[Scoring]]:
    truth = upweight_scoring(behavior, alpha)
    return [truth] * len(DAMPINGS), [response_scoring(behavior, damping) for damping in DAMPINGS]


SURFACES: Registry[ErrorSurface] = Registry("error surface", (
        ErrorSurface("steps", "step size and number of steps", ("η", "steps"), ETAS, STEPS, _unrolled),
        ErrorSurface("damping", "weight and damping", ("α", "damping"), ALPHAS, DAMPINGS, _damped, convex=True)))
