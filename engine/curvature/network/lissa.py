r"""The inverse Hessian by LiSSA, a stochastic Neumann series, with the mean of the last iterates.

    x_{t+1} = rhs + (I − (H_t + δI)/σ) x_t,   x_0 = rhs,   result = mean(x_{T−L+1}, …, x_T)/σ,

with H_t the Hessian of L_D on a fresh mini-batch (including the regulariser) and δ = max(damping, DAMPING): where the
specification's damping is below LiSSA's own, the difference is part of LiSSA's approximation error. The series
contracts along every direction in which 0 < vᵀ(H_t + δI)v < 2σ. Along negative curvature below −δ it grows, by a
factor below 1 + |λ_min|/σ a step.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.network.lanczos import random_start
from engine.curvature.network.measure import measured
from engine.curvature.network.products import Curvature, column_blocks, hessian_product
from engine.curvature.solution import InverseHessian, Solution

# the paper's settings
ITERATIONS = 50
BATCH_SIZE = 64
DAMPING = 0.05
AVERAGED = 20

FIRST_POWER_STEPS, POWER_STEPS = 10, 3


def solve(problem, rhs: Tensor, damping: float, options: Options | None = None, *, iterations: int = ITERATIONS,
          batch_size: int = BATCH_SIZE, own_damping: float = DAMPING, averaged: int = AVERAGED,
          gauss_newton: bool = False, columns: int | None = None, measure: bool = True) -> Solution:
    """LiSSA (Agarwal et al. 2017; Koh & Liang 2017), rhs (P, b), all columns on the same mini-batches.

    Mini-batches are drawn from options.seed, without replacement within a batch. σ is δ plus the largest absolute
    eigenvalue of any drawn Hessian; where σ is large against δ, directions of small curvature have not converged
    after `iterations`. gauss_newton: of the Gauss–Newton matrix in place of the Hessian. Cost: iterations ×
    batch_size examples' Hessian products a column. The residual is that of the specification's damping, for
    `columns` columns (all where it is None); measure=False leaves it out, with the passes over all of the data that it
    takes. Raises `InvalidInput` unless 1 ≤ averaged ≤ iterations and
    batch_size ≥ 1.
    """
    if not 1 <= averaged <= iterations or batch_size < 1:
        raise InvalidInput("Let LiSSA average at least one and at most all of its iterates, on a batch of at least 1.")
    options = Options() if options is None else options
    delta = max(damping, own_damping)
    batches = mini_batches(problem, iterations, batch_size, options.seed)
    scale = delta + largest_curvature(problem, batches, gauss_newton, options)
    x = torch.empty_like(rhs)
    for part in column_blocks(problem, rhs.shape[1], 6, options):
        start = rhs[:, part]
        iterate, total = start.clone(), torch.zeros_like(start)
        for step, rows in enumerate(batches):
            image = hessian_product(problem, iterate, delta, rows, gauss_newton, options)
            iterate.add_(start).sub_(image, alpha=1 / scale)
            if step >= iterations - averaged:
                total += iterate
            options.progress((part.start + (part.stop - part.start) * (step + 1) / iterations) / rhs.shape[1])
        x[:, part] = total / (averaged * scale)
    info = {"iterations": float(iterations), "batch_size": float(min(batch_size, problem.n)), "damping": delta,
            "scale": scale, "averaged": float(averaged)}
    if not measure:
        return Solution(x, x.new_full((x.shape[1],), torch.nan), x.isfinite().all(0), info)
    return measured(problem, x, rhs, damping, options, info, gauss_newton=gauss_newton, columns=columns)


def mini_batches(problem, count: int, size: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(problem.n, generator=generator)[:size].to(problem.device) for _ in range(count)]


def largest_curvature(problem, batches: list[Tensor], gauss_newton: bool, options: Options) -> float:
    """The largest absolute eigenvalue of any mini-batch Hessian, by power iteration from the last one's vector.

    Power iteration errs on the low side. The series contracts as long as the true value is below twice the
    estimate.
    """
    vector, largest = random_start(problem)[:, None], 0.0
    vector = vector / vector.norm()
    for index, rows in enumerate(batches):
        curvature = Curvature(problem, rows, gauss_newton, options)
        for _ in range(POWER_STEPS if index else FIRST_POWER_STEPS):
            vector = curvature(vector)
            norm = vector.norm()
            vector = vector / norm.clamp_min(torch.finfo(vector.dtype).tiny)
        largest = max(largest, norm.item())
    return largest


LISSA = InverseHessian("lissa", "LiSSA", "Agarwal et al. 2017; Koh & Liang 2017", solve)
