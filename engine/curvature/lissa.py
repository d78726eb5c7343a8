r"""The inverse Hessian by LiSSA, a stochastic Neumann series, with the mean of the last iterates.

    x_{t+1} = rhs + (I − (H_t + δI)/σ) x_t,   x_0 = rhs,   result = mean(x_{T−L+1}, …, x_T)/σ,

with H_t the Hessian on a fresh mini-batch (including the regulariser). Its fixed point solves
(H + δI)x = rhs in expectation, with δ = max(damping, DAMPING): where the specification's damping is below
LiSSA's own, the difference is part of LiSSA's approximation error.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.curvature.solution import InverseHessian, Solution, relative_residual
from engine.models import softmax

# the paper's settings
ITERATIONS = 50
BATCH_SIZE = 64
DAMPING = 0.05
AVERAGED = 20

POWER_STEPS = 10


def solve(problem, rhs: Tensor, damping: float, options=None, *, iterations: int = ITERATIONS,
          batch_size: int = BATCH_SIZE, own_damping: float = DAMPING, averaged: int = AVERAGED) -> Solution:
    """LiSSA (Agarwal et al. 2017; Koh & Liang 2017), rhs (D, C, b), all columns on the same mini-batches.

    Mini-batches are drawn from options.seed, without replacement within a batch. σ is δ plus the largest
    eigenvalue of any drawn Hessian, so that no step diverges; where σ is large against δ, directions of small
    curvature have not converged after `iterations`. The residual is that of the specification's damping.
    Raises `InvalidInput` unless 1 ≤ averaged ≤ iterations and batch_size ≥ 1.
    """
    if not 1 <= averaged <= iterations or batch_size < 1:
        raise InvalidInput("Let LiSSA average at least one and at most all of its iterates, on a batch of at least 1.")
    delta = max(damping, own_damping)
    batches = _batches(problem, iterations, batch_size, options.seed if options is not None else 0)
    scale = delta + _largest_eigenvalue(problem, batches)
    x, total = rhs.clone(), torch.zeros_like(rhs)
    for step, rows in enumerate(batches):
        if options is not None:
            options.check()
        image = softmax.hessian_vector(x, problem.probabilities[rows], problem.x[rows], problem.penalty)
        x.mul_(1.0 - delta / scale).add_(rhs).sub_(image, alpha=1.0 / scale)
        if step >= iterations - averaged:
            total += x
    x = total / (averaged * scale)
    return Solution(x, relative_residual(problem, x, rhs, damping), x.isfinite().flatten(0, 1).all(0),
                    {"iterations": iterations, "batch_size": min(batch_size, problem.n), "damping": delta,
                     "scale": scale, "averaged": averaged})


def _batches(problem, count: int, size: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(problem.n, generator=generator)[:size].to(problem.device) for _ in range(count)]


def _largest_eigenvalue(problem, batches: list[Tensor]) -> float:
    """The largest eigenvalue of any mini-batch Hessian, by POWER_STEPS power iterations each.

    Power iteration errs on the low side. The series contracts as long as the true value is below twice the
    estimate, a margin that a few steps from the last mini-batch's vector keep.
    """
    generator = torch.Generator().manual_seed(0)
    v = torch.randn(problem.dimension, problem.classes, 1, generator=generator, dtype=torch.float64)
    v, largest = v.to(problem.device) / v.norm(), 0.0
    for rows in batches:
        x, p = problem.x[rows], problem.probabilities[rows]
        for _ in range(POWER_STEPS):
            v = softmax.hessian_vector(v, p, x, problem.penalty)
            norm = v.norm()
            v = v / norm
        largest = max(largest, norm.item())
    return largest


LISSA = InverseHessian("lissa", "LiSSA", "Agarwal et al. 2017; Koh & Liang 2017", solve)
