r"""The inverse of an averaged outer product of gradients, by the average of the inverses (DataInf).

Layer by layer, with g_i the gradient of ℓ(z_i) at θ_D in the layer's parameters and δ its damping:

    ((1/n) Σ_i g_i g_iᵀ + δI)⁻¹ v  ≈  (1/n) Σ_i (g_i g_iᵀ + δI)⁻¹ v  =  (1/δ) [v − (1/n) Σ_i g_i (g_iᵀv)/(δ + ‖g_i‖²)]

The average of inverses stands for the inverse of the average, which it equals for n = 1. A layer is a module with
its own weight and bias.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.hessian import Hessian
from engine.curvature.model import CurvedModule
from engine.curvature.shifts import mean_over
from engine.curvature.solution import InverseHessian, Solution, measured
from engine.gradients.per_example import loss_gradients

OWN_DAMPING = 0.1
"""Without damping: this fraction of the mean squared gradient of a layer's parameter (Kwon et al. 2024)."""

ROWS = 1024
"""At most so many training gradients are held at once."""


def solve(operator: Hessian, rhs: Tensor, *, columns: int | None = None) -> Solution:
    """DataInf (Kwon et al. 2024), rhs (P, b).

    δ = λ + damping, in every layer. Where damping is zero, a layer has δ = λ + 0.1 · (1/(n p)) Σ_i ‖g_i‖², p its
    number of parameters. All right-hand sides share one pass over the training gradients, of 4·n·P·b operations
    besides the gradients (two passes where δ is DataInf's own, the first kept on the problem). The residual is
    that of the Hessian with the given damping, for `columns` columns (all where it is None); no Lanczos steps look for
    negative curvature, which would take longer than the solution.
    Raises `InvalidInput` where a layer has δ = 0 because all its gradients are zero.
    """
    problem, options = operator.problem, operator.options
    layers = layer_slices(problem)
    dampings = _dampings(problem, layers, operator.damping, options)
    total = torch.zeros_like(rhs)
    for gradients in _gradients(problem, options):
        for layer, delta in zip(layers, dampings, strict=True):
            g = gradients[:, layer]
            weights = (g @ rhs[layer]) / (delta + g.square().sum(1, keepdim=True))
            total[layer].addmm_(g.T, weights, beta=1, alpha=1 / problem.n)
    x = torch.sub(rhs, total, out=total)
    for layer, delta in zip(layers, dampings, strict=True):
        x[layer] /= delta
    info = {"layers": float(len(layers)), "smallest_damping": min(dampings), "largest_damping": max(dampings)}
    return measured(operator, x, rhs, info, columns=columns, negative=False)


def layer_slices(problem: CurvedModule) -> list[slice]:
    """The place in θ of every layer: neighbouring parameters of one module."""
    slices: dict[str, slice] = {}
    for name, own in problem.network.slices.items():
        layer = name.rpartition(".")[0]
        slices[layer] = slice(slices[layer].start if layer in slices else own.start, own.stop)
    return list(slices.values())


def _dampings(problem: CurvedModule, layers: list[slice], damping: float, options: Options) -> list[float]:
    if damping > 0:
        return [mean_over(damping + problem.l2, layer) for layer in layers]

    def mean_squares() -> list[float]:
        total = torch.zeros(len(layers), dtype=torch.float64, device=problem.device)
        for gradients in _gradients(problem, options):
            total += torch.stack([gradients[:, layer].square().sum().double() for layer in layers])
        return [value / problem.n / (layer.stop - layer.start)
                for value, layer in zip(total.tolist(), layers, strict=True)]

    dampings = [mean_over(problem.l2, layer) + OWN_DAMPING * square
                for layer, square in zip(layers, problem.memo("datainf", mean_squares), strict=True)]
    if min(dampings) <= 0:
        raise InvalidInput("DataInf's own damping is zero because all training gradients of a layer are zero; use a "
                           "damping or an l2 above zero.")
    return dampings


def _gradients(problem: CurvedModule, options: Options) -> Iterator[Tensor]:
    """∇ℓ(z_i) of all training examples (b, P), in chunks that fit in a quarter of the budget."""
    size = max(1, options.budget // 4 // (problem.parameters * problem.theta.element_size()))
    for rows in torch.arange(problem.n, device=problem.device).split(min(size, ROWS)):
        yield loss_gradients(problem, rows, budget=options.budget // 4, check=options.check)


DATAINF = InverseHessian("datainf", "DataInf", "Kwon et al. 2024", solve, (Hessian,), products=2, factored=True,
                         known=("DataInf", "Kwon et al. 2024"))
