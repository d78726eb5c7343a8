r"""What a solution of (H + damping·I)x = rhs is worth: its residual, and whether the matrix is positive definite."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.network.lanczos import random_start, ritz_values
from engine.curvature.network.products import Curvature, column_blocks
from engine.curvature.solution import Solution

SPECTRUM_STEPS = 30
"""Lanczos steps, each a pass over the data, once a problem."""


def measured(problem, x: Tensor, rhs: Tensor, damping: float, options: Options, info: dict[str, float], *,
             gauss_newton: bool = False, tolerance: float | None = None, columns: int | None = None,
             negative: bool | None = None) -> Solution:
    """A `Solution` with ‖(H + damping·I)x − rhs‖/‖rhs‖ of every column of x (P, b); 0 for zero solved by zero.

    gauss_newton: measure against the Gauss–Newton matrix in place of the Hessian; info["residual_of_gauss_newton"]
    says which. columns: so many columns only, evenly spaced, NaN for the others: a measured column costs a
    Hessian product with all n examples, which the cheap solvers' whole solution may not. converged: residual ≤
    tolerance, or x finite where there is no tolerance. negative: whether the solver itself met negative
    curvature; None where it does not look. The Hessian plus damping is reported as not positive definite, in
    info["negative_curvature"] and by one warning, on proof only: what the solver met, xᵀ(H + damping·I)x < 0 for
    a column, or, where the solver does not look, a Ritz value of SPECTRUM_STEPS Lanczos steps below −damping.
    """
    picked = _picked(x.shape[1], columns, x.device)
    residual, found = x.new_full((x.shape[1],), torch.nan), bool(negative)
    curvature = Curvature(problem, None, gauss_newton, options)
    for part in column_blocks(problem, len(picked), 4, options):
        chosen = picked[part]
        block, target = x[:, chosen], rhs[:, chosen]
        image = curvature(block, damping)
        found |= not gauss_newton and _any_negative(block, image)
        residual[chosen] = (image - target).norm(dim=0) / target.norm(dim=0).clamp_min(torch.finfo(x.dtype).tiny)
    del curvature  # its graphs, before another look at the spectrum
    finite = x.isfinite().all(0)
    converged = finite if tolerance is None else residual <= tolerance
    info = {**info, "residual_of_gauss_newton": float(gauss_newton)}
    if not found and negative is None:
        info["smallest_eigenvalue"] = smallest_eigenvalue(problem, options)
        found = info["smallest_eigenvalue"] + damping < 0
    if found:
        warnings.warn(f"The Hessian plus damping {damping:g} is not positive definite, so the local response is not "
                      "that of a minimum and scores may have the wrong sign; use "
                      f"{_remedy(info, damping)}, or `ekfac`, whose Gauss–Newton matrix has no negative curvature.",
                      stacklevel=3)
    return Solution(x, residual, converged, {**info, "negative_curvature": float(found)})


def _remedy(info: dict[str, float], damping: float) -> str:
    smallest = info.get("smallest_eigenvalue", 0.0)
    return f"a damping above {-smallest:.2g}" if smallest + damping < 0 else "a larger damping"


def smallest_eigenvalue(problem, options: Options) -> float:
    """An upper bound of the smallest eigenvalue of ∇²L_D(θ_D), kept on the problem; rounding counts as zero."""
    def build() -> float:
        curvature = Curvature(problem, options=options)
        values = ritz_values(lambda v: curvature(v[:, None])[:, 0], random_start(problem), SPECTRUM_STEPS)
        rounding = 100 * torch.finfo(problem.theta.dtype).eps * values.abs().max()
        return values[0].item() if values[0] < -rounding else max(values[0].item(), 0.0)

    return problem.memo("curvature: smallest eigenvalue", build)


def _any_negative(x: Tensor, image: Tensor) -> bool:
    energy = (x * image).sum(0)
    rounding = 100 * torch.finfo(x.dtype).eps * x.norm(dim=0) * image.norm(dim=0)
    return bool((energy < -rounding).any())


def _picked(count: int, columns: int | None, device: torch.device) -> Tensor:
    if columns is None or columns >= count:
        return torch.arange(count, device=device)
    return torch.linspace(0, count - 1, columns, dtype=torch.float64).round().long().to(device)
