r"""The Gauss–Newton matrix of a module's training objective.

    (1/n) Σ_i J_iᵀ H_i J_i + λI,   J_i = ∂u(x_i)/∂θ (C, P),   H_i = ∂²ℓ/∂u² (C, C)

u are the logits, of classes or of all tokens of a response (`engine.models.link`). It is the Hessian where they are
linear in θ or where every ∂ℓ/∂u is zero. A product takes J v from operation to operation (`engine.gradients.changes`),
or as the derivative of Jᵀw in w (double backward) where an operation has no rule, then H_i, then Jᵀ.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from engine.curvature.graphs import Product, flat, leaves_of, named, pulled_back
from engine.curvature.model import CurvedModule
from engine.curvature.module_operator import ModuleOperator
from engine.curvature.second_order import twice_differentiable
from engine.gradients.changes import Recorded, has_rules
from engine.gradients.layout import arranged


class GaussNewton(ModuleOperator):
    """The Gauss–Newton matrix + δI, positive semidefinite for a loss that is convex in the logits."""

    gauss_newton: ClassVar = True

    @staticmethod
    def summed(problem: CurvedModule, rows: Tensor) -> Product:
        return gauss_newton_map(problem, rows)


def gauss_newton_map(problem: CurvedModule, rows: Tensor) -> Product:
    """V (r, P) -> Σ_i J_iᵀ H_i J_i V (r, P) over `rows`, on graphs that are kept."""
    leaves = leaves_of(problem)
    ruled = has_rules(problem.network, problem.theta, problem.x)
    logits, derivative = (_by_rules if ruled else _by_double_backward)(problem, rows, leaves)
    curve = loss_curvature(problem, logits.detach(), rows)

    def product(block: Tensor) -> Tensor:
        return flat(pulled_back([logits], leaves, [curve(derivative(block))]))

    return product


def _by_rules(problem: CurvedModule, rows: Tensor, leaves: list[Tensor]) -> tuple[Tensor, Product]:
    """The outputs (b, …) as a graph on the leaves, and V (r, P) -> J_i V (r, b, …) from operation to operation."""
    network = problem.network
    with Recorded() as recorded:
        logits = problem.link.outputs(arranged(network, problem.x[rows]), named(problem, leaves))

    def derivative(block: Tensor) -> Tensor:
        return torch.stack([recorded.along(list(zip(leaves, network.unflatten(v).values(), strict=True)), logits)
                            for v in block])

    return logits, derivative


def _by_double_backward(problem: CurvedModule, rows: Tensor, leaves: list[Tensor]) -> tuple[Tensor, Product]:
    """The same, with J v as the derivative of Jᵀw in w."""
    with twice_differentiable():
        logits = problem.link.outputs(problem.x[rows], named(problem, leaves))
        probe = torch.zeros_like(logits, requires_grad=True)
        slopes = torch.autograd.grad(logits, leaves, probe, create_graph=True, materialize_grads=True)
        pulled = [slope + 0 * probe.sum() for slope in slopes]

    def derivative(block: Tensor) -> Tensor:
        change, = pulled_back(pulled, [probe], list(problem.network.unflatten(block).values()))
        return change

    return logits, derivative


def loss_curvature(problem: CurvedModule, logits: Tensor, rows: Tensor) -> Product:
    """V (r, b, …) -> H_i v_i, each (r, b, …): the loss's own Hessian at logits (b, …) of training examples (b,)."""
    leaf = logits.detach().requires_grad_(True)
    with twice_differentiable():
        loss = problem.link.loss(leaf, problem.x[rows], problem.y[rows]).sum()
        signal, = torch.autograd.grad(loss, leaf, create_graph=True)
        signal = signal + 0 * leaf
    return lambda block: pulled_back([signal], [leaf], [block])[0]
