r"""Passes over data at any parameters θ of a network: the query logits, the mean training loss and its gradient.

Gradients are taken with respect to the named tensors and joined afterwards: through one flat θ every tensor's
gradient would be written into a vector of all P parameters first.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.func import functional_call

from engine.basics.options import Options
from engine.gradients.chunks import BUDGET, activation_bytes, fitting, in_chunks
from engine.gradients.layout import arranged
from engine.models.losses import differentiable
from engine.models.outputs_only import outputs_only
from engine.problems import ModuleProblem


def query_logits(problem: ModuleProblem, theta: Tensor) -> Tensor:
    """f(q; θ) of all queries at θ (P,), without gradients: (m, C)."""
    network = problem.network
    queries = problem.memo("queries_arranged", lambda: arranged(network, problem.queries))
    values = network.unflatten(theta)
    logits = theta.new_empty(len(queries), problem.classes)

    def run(rows: slice) -> None:
        logits[rows] = functional_call(network.module, values, (queries[rows],))

    with outputs_only():
        in_chunks(run, len(queries), _chunk(problem, queries, BUDGET))
    return logits


def training_loss(problem: ModuleProblem, theta: Tensor, options: Options) -> tuple[float, Tensor]:
    """((1/n) Σ_i ℓ(z_i; θ), its gradient (P,)) at θ (P,), without the penalty; the losses are added up in float64."""
    inputs = problem.memo("inputs_arranged", lambda: arranged(problem.network, problem.x))
    value = torch.zeros((), dtype=torch.float64, device=theta.device)
    gradient = torch.zeros_like(theta)

    def run(rows: slice) -> None:
        loss, slope = loss_and_gradient(problem, theta, inputs[rows], problem.y[rows])
        value.add_(loss)
        gradient.add_(slope)

    in_chunks(run, problem.n, _chunk(problem, inputs, options.budget), options.check)
    return value.item() / problem.n, gradient / problem.n


def _chunk(problem: ModuleProblem, x: Tensor, budget: int) -> int:
    """Examples at a time: activations, their gradients, and what the kernels need beside."""
    return fitting(3 * activation_bytes(problem.network, x), budget, x.device)


def loss_and_gradient(problem: ModuleProblem, theta: Tensor, x: Tensor, labels: Tensor,
                      weights: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
    """(Σ_i w_i ℓ(x_i, y_i; θ) in float64, its gradient (P,)) of one batch x (b, …), labels (b,), weights (b,)."""
    network = problem.network
    values = {name: value.detach().requires_grad_(True) for name, value in network.unflatten(theta).items()}
    with torch.enable_grad():
        each = differentiable(problem.loss)(functional_call(network.module, values, (x,)), labels)
        total = (weights * each.double()).sum()
        gradients = torch.autograd.grad(total, list(values.values()), materialize_grads=True)
    return total.detach(), network.flatten(dict(zip(values, gradients, strict=True)))
