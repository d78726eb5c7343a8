r"""(C + δI)⁻¹ by a Neumann iteration that EK-FAC preconditions, on mini-batches, with the mean of the last iterates.

    x_{t+1} = x_t − M⁻¹ ((C_t + δI) x_t − rhs)/σ,     x_0 = M⁻¹ rhs,     M = EK-FAC of C, plus δI

C is the Gauss–Newton matrix with the penalty, C_t that of a fresh mini-batch. σ is the largest eigenvalue of any
M⁻¹(C_t + δI) that is met, by power iteration, so that no step diverges; where EK-FAC is the matrix itself, it is 1 and
x_0 solves the system. With all examples in a batch it is Richardson's iteration, which converges to the solution.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.settings import FREE, GROWS, setting
from engine.basics.values import Count
from engine.curvature.ekfac import factors
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.lissa import IterateSettings, mini_batches, summed_iterates
from engine.curvature.operator import Linear, Operator
from engine.curvature.shifts import smallest
from engine.curvature.solution import InverseHessian, Solution, measured

ITERATIONS = 40
BATCH_SIZE = 128
AVERAGED = 10
"""Of the last iterates; over full batches the last one is the best, and stands alone."""
MATRICES = 8
POWER_STEPS = 8
SAFETY = 1.1
"""Power iteration errs on the low side."""


class AstraSettings(IterateSettings):
    """Settings of ASTRA."""

    iterations: Count = setting(
        ITERATIONS, "Number of preconditioned steps, each on a fresh "
                    "mini-batch.", "this program", GROWS, ge=1, le=100_000)
    batch_size: Count = setting(
        BATCH_SIZE, "Mini-batch size.", "this program", GROWS, ge=1, le=1_000_000)
    averaged: Count = setting(
        AVERAGED, "Number of final iterates that are averaged; at most the number of iterations.", "this program",
        FREE, ge=1, le=100_000)


def solve(operator: GaussNewton, rhs: Tensor, *, iterations: int = ITERATIONS, batch_size: int = BATCH_SIZE,
          averaged: int = AVERAGED, columns: int | None = None) -> Solution:
    """ASTRA (Wang et al. 2025), rhs (P, b), all columns on the same mini-batches, drawn from the options' seed.

    Costs EK-FAC, and iterations × batch_size examples' products a column. The residual is against the Gauss–Newton
    matrix of all examples, for `columns` columns (all where it is None). Raises `InvalidInput` unless
    1 ≤ averaged ≤ iterations and batch_size ≥ 1, and as EK-FAC does where λ + δ is zero.
    """
    if not 1 <= averaged <= iterations or batch_size < 1:
        raise InvalidInput("ASTRA averages at least one and at most all of its iterates, on batches of at least 1; "
                           "correct its settings.")
    problem, options = operator.problem, operator.options
    shift = problem.l2 + operator.damping
    if smallest(shift) <= 0:
        raise InvalidInput("EK-FAC divides by l2 + damping, which is zero here; use an l2 or a damping above zero.")
    factored = factors(problem, options)
    whole = batch_size >= problem.n
    averaged = 1 if whole else averaged
    batches = [operator] * iterations if whole else [
        operator.batch(rows) for rows in mini_batches(operator, iterations, batch_size)]

    def conditioned(vectors: Tensor) -> Tensor:
        return factored.inverse(problem, vectors, shift)

    scale = SAFETY * max(_largest(batch, conditioned, operator.random_start()) for batch in dict.fromkeys(batches))

    def step(iterate: Tensor, start: Tensor, batch: Operator) -> Tensor:
        return iterate - conditioned(batch @ iterate - start) / scale

    x = summed_iterates(operator, rhs, MATRICES, conditioned, step, batches, averaged) / averaged
    info = {"iterations": float(iterations), "batch_size": float(min(batch_size, problem.n)), "scale": scale,
            "averaged": float(averaged)}
    return measured(operator, x, rhs, info, columns=columns)


def _largest(operator: Operator, conditioned: Linear, start: Tensor) -> float:
    """The largest eigenvalue of M⁻¹(C_t + δI), by power iteration."""
    vector = (start / start.norm())[:, None]
    value = 0.0
    for _ in range(POWER_STEPS):
        vector = conditioned(operator @ vector)
        value = vector.norm().item()
        vector = vector / max(value, torch.finfo(vector.dtype).tiny)
    return value


ASTRA = InverseHessian("astra", "ASTRA", "Wang et al. 2025", solve, (GaussNewton,), products=6, settings=AstraSettings,
                       known=("Influence function (ASTRA)", "Wang et al. 2025"))
