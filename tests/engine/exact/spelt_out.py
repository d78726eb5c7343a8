"""Intervened objectives of a network spelt out in float64, and their optima by a dense Newton method."""

from typing import NamedTuple

import torch
from torch.func import functional_call, grad, hessian
from torch.nn.functional import cross_entropy


class Spelt(NamedTuple):
    """The scale of the data loss, and (weight, label) of every loss on x_k beside it."""

    scale: float
    losses: list[tuple[float, int]]


def spelt_out(problem, intervention, k):
    n, y = problem.n, int(problem.y[k])
    return {"upweight": lambda: Spelt(1.0, [(intervention.alpha, y)]),
            "remove": lambda: Spelt(1.0, [(-1 / n, y)]) if intervention.normalization == "n" else Spelt(
                n / (n - 1), [(-1 / (n - 1), y)]),
            "relabel": lambda: Spelt(1.0, [(1 / n, intervention.label), (-1 / n, y)])}[intervention.kind]()


def tensor_objective(problem, k, terms, damping=0.0):
    """F_k as a function of one flat float64 θ (P,)."""
    module = problem.network.module

    def value(theta):
        logits = functional_call(module, problem.network.unflatten(theta), (problem.x,))
        total = terms.scale * cross_entropy(logits, problem.y)
        for weight, label in terms.losses:
            total = total + weight * cross_entropy(logits[k:k + 1], torch.tensor([label]))
        total = total + 0.5 * problem.l2 * theta.square().sum()
        return total + 0.5 * damping * (theta - problem.theta).square().sum()

    return value


def objective(problem, k, terms, damping=0.0):
    """The same in NumPy, as (value, gradient)."""
    function = tensor_objective(problem, k, terms, damping)

    def evaluate(flat):
        theta = torch.tensor(flat, requires_grad=True)
        total = function(theta)
        return total.item(), torch.autograd.grad(total, theta)[0].numpy()

    return evaluate


def newton(function, theta, steps=30):
    """The stationary point next to θ by full Newton steps, which must end at a strict minimum."""
    for _ in range(steps):
        gradient, curvature = grad(function)(theta), hessian(function)(theta)
        if gradient.norm() < 1e-14:
            break
        theta = theta - torch.linalg.solve(curvature, gradient)
    assert grad(function)(theta).norm() < 1e-13
    assert torch.linalg.eigvalsh(curvature).min() > 0
    return theta


def followed(problem, k, terms, theta, damping=0.0, parts=4):
    """The optimum of F_k on the branch through θ, an optimum without the change: the change is made in parts."""
    for part in range(1, parts + 1):
        share = part / parts
        partly = Spelt(1.0 + share * (terms.scale - 1.0), [(share * weight, label) for weight, label in terms.losses])
        theta = newton(tensor_objective(problem, k, partly, damping), theta)
    return theta
