r"""The inverse Hessian on the span of its eigenvectors of largest magnitude.

    x = Σ_{i ≤ r} v_i v_iᵀ rhs / (λ_i + damping),   H v_i = λ_i v_i,   |λ_1| ≥ |λ_2| ≥ …

The orthogonal complement of the span is projected away.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.network.lanczos import lanczos, random_start
from engine.curvature.network.measure import measured
from engine.curvature.network.products import Curvature
from engine.curvature.solution import InverseHessian, Solution

RANK = 64
STEPS_PER_RANK = 3
"""Lanczos steps a kept eigenpair: the basis holds RANK · STEPS_PER_RANK vectors (P,)."""


@dataclass(frozen=True)
class Eigenpairs:
    """λ (r,), largest magnitude first, V (P, r), the largest ‖Hv − λv‖/|λ| among them, and the smallest Ritz value
    of all, an upper bound of H's smallest eigenvalue."""

    values: Tensor
    vectors: Tensor
    fault: float
    smallest: float


def solve(problem, rhs: Tensor, damping: float, options: Options | None = None, *, rank: int = RANK,
          gauss_newton: bool = False, columns: int | None = None) -> Solution:
    """Low-rank inverse from the `rank` eigenpairs of largest magnitude (Schioppa et al. 2022), rhs (P, b).

    The eigenpairs come from rank · STEPS_PER_RANK Lanczos steps on all n examples (each one Hessian product), once
    a problem, and serve every damping and behavior; memory rank · (STEPS_PER_RANK + 1) · P numbers. The relative
    residual is at least the share of rhs outside their span, and goes to 0 as the rank reaches P. An eigenvalue
    that cancels the damping to rounding is left out. It is measured for `columns` columns (all where it is None).
    gauss_newton: of the Gauss–Newton matrix in place of the Hessian. Raises `InvalidInput` for rank < 1, and where
    the basis does not fit in the memory budget.
    """
    if rank < 1:
        raise InvalidInput(f"The rank is {rank}; use at least 1 eigenvector.")
    options = Options() if options is None else options
    rank = min(rank, problem.parameters)
    pairs = problem.memo(f"arnoldi:{rank}:{gauss_newton}", lambda: _eigenpairs(problem, rank, gauss_newton, options))
    damped = pairs.values + damping
    rounding = 100 * torch.finfo(rhs.dtype).eps * pairs.values.abs().max()
    inverse = torch.where(damped.abs() > rounding, 1.0 / damped, 0.0)
    x = pairs.vectors @ (inverse[:, None] * (pairs.vectors.T @ rhs))
    info = {"rank": float(rank), "smallest_kept_eigenvalue": pairs.values.abs().min().item(),
            "eigenpair_residual": pairs.fault, "smallest_eigenvalue": pairs.smallest}
    return measured(problem, x, rhs, damping, options, info, gauss_newton=gauss_newton, columns=columns,
                    negative=pairs.smallest + damping < -rounding.item())


def _eigenpairs(problem, rank: int, gauss_newton: bool, options: Options) -> Eigenpairs:
    steps = min(problem.parameters, STEPS_PER_RANK * rank)
    needed = (steps + rank) * problem.parameters * problem.theta.element_size()
    if needed > options.budget:
        raise InvalidInput(f"The Lanczos basis for rank {rank} needs {needed / 2**30:.1f} GiB, more than the budget of "
                           f"{options.budget / 2**30:.1f} GiB; use a lower rank or select fewer parameters.")
    curvature, done = Curvature(problem, None, gauss_newton, options), 0

    def apply(vector: Tensor) -> Tensor:
        nonlocal done
        done += 1
        options.progress(done / steps)
        return curvature(vector[:, None])[:, 0]

    ritz = lanczos(apply, random_start(problem), steps)
    kept = ritz.values.abs().argsort(descending=True)[:rank]
    values = ritz.values[kept]
    vectors = ritz.basis.T @ ritz.coordinates[:, kept].to(ritz.basis)
    fault = (ritz.residual[kept] / values.abs().clamp_min(torch.finfo(values.dtype).tiny)).max().item()
    return Eigenpairs(values.to(vectors), vectors, fault, ritz.values[0].item())


ARNOLDI = InverseHessian("arnoldi", "Arnoldi", "Schioppa et al. 2022", solve)
