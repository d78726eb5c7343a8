r"""(C + δI)⁻¹ by LiSSA, a stochastic Neumann series, with the mean of the last iterates.

    x_{t+1} = rhs + (I − (C_t + δI)/σ) x_t,   x_0 = rhs,   result = mean(x_{T−L+1}, …, x_T)/σ,

with C_t the curvature on a fresh mini-batch (including the regulariser) and δ = max(damping, DAMPING): where the
specification's damping is below LiSSA's own, the difference is part of LiSSA's approximation error. Its fixed point
solves (C + δI)x = rhs in expectation. The series contracts along every direction in which 0 < vᵀ(C_t + δI)v < 2σ.
Along negative curvature below −δ it grows, by a factor below 1 + |λ_min|/σ a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Self

import torch
from pydantic import model_validator
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.settings import FREE, GROWS, Settings, setting
from engine.basics.values import Count, Number
from engine.curvature.hessian import Hessian
from engine.curvature.operator import Linear, Operator
from engine.curvature.softmax_hessian import SoftmaxHessian
from engine.curvature.solution import InverseHessian, Solution, column_blocks, measured

# the paper's settings
ITERATIONS = 50
BATCH_SIZE = 64
DAMPING = 0.05
AVERAGED = 20

POWER_STEPS, MARGIN = 5, 2.2
"""Of the rule by power steps."""
MATRICES = 6
"""Matrices (P, b) that the iterations hold at once."""


class IterateSettings(Settings):
    """Settings of a series on mini-batches, whose result is the mean of its last iterates."""

    iterations: Count
    batch_size: Count
    averaged: Count

    @model_validator(mode="after")
    def _averages_what_there_is(self) -> Self:
        if self.averaged > self.iterations:
            raise ValueError(f"the mean is over the last {self.averaged:,} of {self.iterations:,} iterations; give an "
                             f"`averaged` of at most {self.iterations:,}")
        return self

    @property
    def effort(self) -> float:
        usual = {name: type(self).model_fields[name].default for name in ("iterations", "batch_size")}
        return self.iterations * self.batch_size / (usual["iterations"] * usual["batch_size"])


class LissaSettings(IterateSettings):
    """Settings of LiSSA."""

    iterations: Count = setting(
        ITERATIONS, "Number of terms of the series, each on a fresh "
                    "mini-batch.", "the paper", GROWS, ge=1, le=1_000_000)
    batch_size: Count = setting(
        BATCH_SIZE, "Mini-batch size.", "the paper", GROWS, ge=1, le=1_000_000)
    own_damping: Number = setting(
        DAMPING, "The smallest δ; if the specification has a larger damping, that is used.", "the paper", FREE,
        gt=0, le=1e6)
    averaged: Count = setting(
        AVERAGED, "Number of final iterates that are averaged; at most the number of iterations.", "the paper",
        FREE, ge=1, le=1_000_000)
    scale: Literal["eigenvalue", "power"] = setting(
        "eigenvalue", "Divisor of a step: δ plus the largest eigenvalue of any mini-batch; or, with a start from zero "
        "and mini-batches with replacement, by five power steps, as in the code of the paper.", "this "
                                                                                                          "program",
        FREE)


def solve(operator: Operator, rhs: Tensor, *, iterations: int = ITERATIONS, batch_size: int = BATCH_SIZE,
          own_damping: float = DAMPING, averaged: int = AVERAGED, scale: str = "eigenvalue",
          columns: int | None = None, measure: bool = True) -> Solution:
    """LiSSA (Agarwal et al. 2017; Koh & Liang 2017), rhs (P, b), all columns on the same mini-batches.

    Mini-batches are drawn from the options' seed, without replacement within a batch. σ is δ plus the largest absolute
    eigenvalue of any drawn curvature, so that no step diverges; where σ is large against δ, directions of small
    curvature have not converged after `iterations`. That eigenvalue is found once for all dampings and right-hand
    sides. By `scale` = "power" it is σ = max(1, 2.2 (δ + ‖C_t v‖)), the largest of five power steps, each on a
    mini-batch of its own, with x_0 = 0 and mini-batches drawn with replacement. Cost: iterations × batch_size examples'
    products a column. The residual is that of the specification's damping, for `columns` columns (all where it is
    None); measure=False leaves it out, with the passes over all of the data that it takes. The Lanczos steps that look
    for negative curvature, 30 at most, take no more products than the series itself. Raises `InvalidInput` unless
    1 ≤ averaged ≤ iterations and batch_size ≥ 1.
    """
    if not 1 <= averaged <= iterations or batch_size < 1:
        raise InvalidInput("LiSSA averages at least one and at most all of its iterates, on batches of at least 1; "
                           "correct its settings.")
    delta = max(operator.damping, own_damping)
    by_power = scale == "power"
    batches = mini_batches(operator, iterations, batch_size, by_power)
    largest = operator.memo("lissa", lambda: (power_steps if by_power else largest_curvature)(operator, batches),
                            (type(operator), operator.dtype, operator.options.seed, iterations, batch_size, scale))
    sigma = max(1.0, MARGIN * (delta + largest)) if by_power else delta + largest

    def step(iterate: Tensor, start: Tensor, rows: Tensor) -> Tensor:
        image = operator.batch(rows).damped(delta) @ iterate
        return iterate.add_(start).sub_(image, alpha=1 / sigma)

    begin = torch.zeros_like if by_power else Tensor.clone
    x = summed_iterates(operator, rhs, MATRICES, begin, step, batches, averaged) / (averaged * sigma)
    info = {"iterations": float(iterations), "batch_size": float(min(batch_size, operator.problem.n)),
            "damping": delta, "scale": sigma, "averaged": float(averaged)}
    if not measure:
        return Solution(x, x.new_full((x.shape[1],), torch.nan), x.isfinite().all(0), info)
    return measured(operator, x, rhs, info, columns=columns,
                    passes=iterations * min(batch_size, operator.problem.n) * rhs.shape[1] // operator.problem.n)


def summed_iterates(operator: Operator, rhs: Tensor, matrices: int, start: Linear, step: Callable[..., Tensor],
                    batches: Sequence[Any], last: int) -> Tensor:
    """The sum of the `last` iterates of x ← step(x, rhs, batch) from x = start(rhs), (P, b), as many columns at a time
    as fit, with so many `matrices` (P, width) each, in half of the memory budget."""
    total, count = torch.zeros_like(rhs), rhs.shape[1]
    for span in column_blocks(operator, count, matrices):
        block = rhs[:, span]
        iterate = start(block)
        for number, batch in enumerate(batches, 1):
            operator.options.check()
            iterate = step(iterate, block, batch)
            if number > len(batches) - last:
                total[:, span] += iterate
            operator.options.progress((span.start + (span.stop - span.start) * number / len(batches)) / count)
    return total


def mini_batches(operator: Operator, count: int, size: int, replacement: bool = False) -> list[Tensor]:
    """Rows of `count` batches, the same for a seed."""
    generator, n = torch.Generator().manual_seed(operator.options.seed), operator.problem.n
    if replacement:
        return [torch.randint(n, (size,), generator=generator).to(operator.device) for _ in range(count)]
    return [torch.randperm(n, generator=generator)[:size].to(operator.device) for _ in range(count)]


def largest_curvature(operator: Operator, batches: list[Tensor]) -> float:
    """The largest absolute eigenvalue of C on any mini-batch, by power iteration from the last one's vector.

    Power iteration errs on the low side. The series contracts as long as the true value is below twice the
    estimate, a margin that a few steps from the last mini-batch's vector keep.
    """
    vector, largest = operator.random_start()[:, None], 0.0
    vector = vector / vector.norm()
    first, later = operator.power_steps
    for index, rows in enumerate(batches):
        curvature = operator.batch(rows).damped(0.0)
        for _ in range(later if index else first):
            vector = curvature @ vector
            norm = vector.norm()
            vector = vector / norm.clamp_min(torch.finfo(vector.dtype).tiny)
        largest = max(largest, norm.item())
    return largest


def power_steps(operator: Operator, batches: list[Tensor]) -> float:
    """The largest ‖C_t v‖ of `POWER_STEPS` power steps v ← C_t v/‖C_t v‖, each on the next mini-batch."""
    vector, largest = operator.random_start()[:, None], 0.0
    for rows in batches[:POWER_STEPS]:
        vector = vector / vector.norm().clamp_min(torch.finfo(vector.dtype).tiny)
        vector = operator.batch(rows).damped(0.0) @ vector
        largest = max(largest, vector.norm().item())
    return largest


LISSA = InverseHessian("lissa", "LiSSA", "Agarwal et al. 2017; Koh & Liang 2017", solve, (SoftmaxHessian, Hessian),
                       iterates=True, products=10, settings=LissaSettings, unmeasured=partial(solve, measure=False),
                       known=("Influence function (LiSSA)", "Agarwal et al. 2017", "LiSSA"))
