r"""The inverse of the empirical Fisher matrix in a projection of every layer's gradients: LoGra and FactGraSS.

    x = Rᵀ (S + δI)⁻¹ R v,   S = (1/n) Σ_i (R g_i)(R g_i)ᵀ,   δ = λ + damping

layer by layer, with g_i = ∇ℓ(z_i; θ_D) in the layer's weight and bias and R (k, p) its projection
(`engine.gradients.layer_projection`). Scores are then inner products of k numbers, g_qᵀRᵀ (S + δI)⁻¹ R g_k. Parameters
of no linear or convolution layer are left out: x is zero there.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.gram import inverse_of_features, inverse_of_gram
from engine.curvature.kronecker import chunks_of
from engine.curvature.layers import CurvatureLayer, captured, factored_layers
from engine.curvature.shifts import mean_over
from engine.curvature.solution import Solution, column_blocks, measured
from engine.gradients.layer_projection import LayerProjection

OWN_DAMPING = 0.1
"""Without damping: this fraction of the mean eigenvalue of a layer's S (Grosse et al. 2023; Choe et al. 2024)."""
MATRICES = 4
"""Matrices (P, b) that are held at once beside the solution."""
Sampler = Callable[[CurvatureLayer, torch.Generator, Tensor], LayerProjection]
"""(layer, generator, a tensor of the device and precision) -> R of the layer."""


def solved(operator: GaussNewton, rhs: Tensor, title: str, key: str, sampler: Sampler, columns: int | None) -> Solution:
    """x for rhs (P, b), with a projection sampled from the options' seed for each layer; S is kept on the problem under
    `key`. Where damping is zero, a layer has δ = λ + 0.1 · tr S/k. The residual is that of the Gauss–Newton matrix
    with the given damping, for `columns` columns (all where it is None).

    Raises `InvalidInput` where no selected parameter is of a linear or convolution layer, and where a layer has δ = 0
    because all its gradients are zero.
    """
    problem, options = operator.problem, operator.options
    layers = factored_layers(problem)
    if not layers:
        raise InvalidInput(f"{title} projects the gradients of linear layers and convolutions, but no selected "
                           "parameter belongs to one; use `datainf`, or select others.")
    projections = sampled_for(layers, sampler, options.seed, problem.theta)
    key = f"{key}:{options.seed}"
    seen = operator.memo(key, lambda: _second_moments(operator, layers, projections))
    inverses = operator.memo(f"{key} inverse", lambda: [
        _inverse(moment, problem.n, mean_over(problem.l2, *(problem.network.slices[name] for name in layer.names)),
                 operator.damping) for layer, moment in zip(layers, seen, strict=True)], operator.damping)
    x = torch.empty_like(rhs)
    for block in column_blocks(operator, rhs.shape[1], MATRICES):
        options.check()
        values = problem.network.unflatten(rhs[:, block].T)
        solution = {name: torch.zeros_like(own) for name, own in values.items()}
        for layer, projection, inverse in zip(layers, projections, inverses, strict=True):
            small = projection.of(layer.to_matrix(values)).double()
            solution |= layer.from_matrix(projection.transposed(inverse(small).to(rhs.dtype)))
        x[:, block] = problem.network.flatten(solution).T
    return measured(operator, x, rhs, {
        "layers": float(len(layers)), "projected_to": float(sum(each.count for each in projections)),
        "parameters_left_out": float(problem.parameters - sum(each.outputs * each.inputs for each in layers))},
        columns=columns)


def sampled_for(layers: tuple[CurvatureLayer, ...], sampler: Sampler, seed: int, like: Tensor) -> list[LayerProjection]:
    """The projection of every layer, each with a seed of its own."""
    return [sampler(layer, torch.Generator().manual_seed(seed * len(layers) + index), like)
            for index, layer in enumerate(layers)]


def _second_moments(operator: GaussNewton, layers: tuple[CurvatureLayer, ...], projections: list[LayerProjection]
                    ) -> list[Tensor]:
    """nS (k, k) of every layer, or R g_i of all examples (n, k) where they are fewer than k; in float64."""
    problem = operator.problem
    few = [problem.n < projection.count for projection in projections]
    seen: list[Tensor | list[Tensor]] = [
        [] if own else problem.theta.new_zeros(each.count, each.count, dtype=torch.float64)
        for own, each in zip(few, projections, strict=True)]
    for rows in chunks_of(problem, layers, operator.options):
        operator.options.check()
        passed = captured(problem, layers, problem.x[rows])
        slopes = passed.pull(_loss_slope(operator, passed.logits, rows))
        for held, projection, g, a in zip(seen, projections, slopes, passed.inputs, strict=True):
            features = projection.of_factors(g, a).double()
            held.append(features) if isinstance(held, list) else held.addmm_(features.T, features)
    return [torch.cat(held) if isinstance(held, list) else held for held in seen]


def _loss_slope(operator: GaussNewton, logits: Tensor, rows: Tensor) -> Tensor:
    """∂ℓ/∂u at logits (b, …) of training examples (b,)."""
    problem, leaf = operator.problem, logits.detach().requires_grad_(True)
    with torch.enable_grad():
        return torch.autograd.grad(problem.link.loss(leaf, problem.x[rows], problem.y[rows]).sum(), leaf)[0]


def _inverse(moment: Tensor, n: int, l2: float, damping: float) -> Callable[[Tensor], Tensor]:
    """Rows v (b, k) -> v (S + δI)⁻¹ out of what `_second_moments` gives of a layer."""
    whole = len(moment) == moment.shape[1]
    trace = moment.trace() if whole else moment.square().sum()
    delta = l2 + (damping if damping > 0 else OWN_DAMPING * trace.item() / n / moment.shape[1])
    if delta <= 0:
        raise InvalidInput("The damping of a layer is zero because all its training gradients are; use a damping or an "
                           "l2 above zero.")
    inverse = (inverse_of_gram if whole else inverse_of_features)(moment, n * delta)
    return lambda rows: n * inverse(rows)
