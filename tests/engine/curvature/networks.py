"""Tiny networks with their dense curvature, by automatic differentiation of an objective written out here."""

from __future__ import annotations

from functools import cache

import torch
from torch import nn
from torch.func import functional_call, hessian, jacrev

from engine.basics.options import Options
from engine.curvature import GaussNewton, Hessian, InverseHessian, Solution
from engine.models.losses import per_example_cross_entropy
from engine.problems.module import ModuleProblem

CLASSES = 3


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, CLASSES))


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(4, CLASSES, bias=False))


def convolutions() -> nn.Module:
    """Strides, dilation, `same` padding, circular padding, groups, in-place operations, pooling and BatchNorm."""
    return nn.Sequential(
        nn.Conv2d(1, 2, 3, padding="same", padding_mode="circular"), nn.BatchNorm2d(2), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.Conv2d(2, 4, (2, 1), stride=(1, 2), padding=(1, 0), bias=False), nn.Tanh(),
        nn.Conv2d(4, 2, 1, groups=2), nn.Flatten(), nn.Linear(16, CLASSES))


class Residual(nn.Module):
    """A layer that is called twice, one inside a residual sum, and linear layers on sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.twice, self.head = nn.Linear(2, 3), nn.Linear(3, 3), nn.Linear(3, CLASSES)
        self.norm = nn.LayerNorm(3)

    def forward(self, x):
        h = self.embed(x.unflatten(1, (2, 2)))
        h = h + self.twice(torch.tanh(self.twice(h)))
        return self.head(self.norm(h).mean(1))


def squared_probability_error(logits, labels):
    """Not convex in the logits."""
    return (logits.softmax(-1) - nn.functional.one_hot(labels, logits.shape[1])).square().sum(-1)


def squared_error(logits, labels):
    return (logits - nn.functional.one_hot(labels, logits.shape[1])).square().sum(-1)


MODULES = {"mlp": (mlp, (4,)), "linear": (linear, (4,)), "convolutions": (convolutions, (1, 6, 6)),
           "residual": (Residual, (4,))}
LOSSES = {"cross_entropy": per_example_cross_entropy, "squared_probability_error": squared_probability_error,
          "squared_error": squared_error}


def problem(name: str = "mlp", n: int = 9, loss: str = "cross_entropy", **options) -> ModuleProblem:
    """Random data, weights and BatchNorm statistics, in float64 unless `dtype` says otherwise."""
    build, shape = MODULES[name]
    with torch.random.fork_rng():
        torch.manual_seed(3)
        module = build()
        for buffer in module.buffers():
            if buffer.is_floating_point():
                buffer.uniform_(0.5, 1.5)
        x = torch.randn(n + 4, *shape)
    y = torch.arange(n + 4) % CLASSES
    options = {"l2": 0.03, "dtype": "float64", **options}
    return ModuleProblem(module, x[:n], y[:n], x[n:], y[n:], loss=LOSSES[loss], **options)


def trained(problem: ModuleProblem, steps: int = 300, rate: float = 0.3) -> ModuleProblem:
    """The same problem after gradient descent on its objective."""
    theta = problem.theta.clone()
    for _ in range(steps):
        theta -= rate * torch.func.grad(lambda t: objective(problem, t))(theta)
    with torch.no_grad():
        own = dict(problem.network.module.named_parameters())
        for name, value in problem.network.unflatten(theta).items():
            own[name].copy_(value)
    problem.network.theta = theta
    return problem


def logits(problem: ModuleProblem, theta, rows=slice(None)):
    parameters, start = {}, 0
    for name in problem.network.names:
        shape = dict(problem.network.module.named_parameters())[name].shape
        parameters[name] = theta[start:start + shape.numel()].view(shape)
        start += shape.numel()
    return functional_call(problem.network.module, parameters, (problem.x[rows],))


def objective(problem: ModuleProblem, theta, rows=slice(None)):
    """Mean loss + (λ/2)‖θ‖²."""
    return problem.loss(logits(problem, theta, rows), problem.y[rows]).mean() + problem.l2 / 2 * theta.square().sum()


def dense_hessian(problem: ModuleProblem, rows=slice(None)):
    """By forward over reverse mode; by reverse mode twice where there is a LayerNorm, whose second derivatives
    torch.func gets wrong (pytorch issue 196700: its Hessian is not even symmetric)."""
    normalised = any(isinstance(module, nn.LayerNorm) for module in problem.network.module.modules())
    second = torch.autograd.functional.hessian if normalised else lambda f, t: hessian(f)(t)
    return second(lambda t: objective(problem, t, rows), problem.theta)


def finite_difference(problem: ModuleProblem, vectors, step: float = 1e-5):
    """∇²L_D V by central differences of the gradient."""
    gradient = torch.func.grad(lambda t: objective(problem, t))
    changes = [gradient(problem.theta + step * v) - gradient(problem.theta - step * v) for v in vectors.T]
    return torch.stack(changes, 1) / (2 * step)


def dense_gauss_newton(problem: ModuleProblem, rows=slice(None)):
    """(1/n) Σ J_iᵀ H_i J_i + λI, one example at a time."""
    jacobians = jacrev(lambda t: logits(problem, t, rows))(problem.theta)
    total = problem.l2 * torch.eye(problem.parameters, dtype=problem.theta.dtype)
    outputs = logits(problem, problem.theta, rows)
    for jacobian, output, label in zip(jacobians, outputs, problem.y[rows], strict=True):
        curve = hessian(lambda f, y=label: problem.loss(f[None], y[None])[0])(output)
        total += jacobian.T @ curve @ jacobian / len(outputs)
    return total


def vectors(problem: ModuleProblem, count: int = 4):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(problem.parameters, count, generator=generator, dtype=torch.float64).to(problem.theta)


def close(found, expected, relative: float) -> bool:
    return bool((found - expected).norm() <= relative * expected.norm())


@cache
def converged(name: str = "mlp") -> ModuleProblem:
    """A trained problem whose Hessian is positive definite."""
    return trained(problem(name, n=30, l2=0.1), 600)


def solve(solver: InverseHessian, problem: ModuleProblem, rhs, damping: float, options: Options | None = None, *,
          gauss_newton: bool = False, **settings) -> Solution:
    """With the solver's own operator, or with the Gauss–Newton matrix."""
    operator = GaussNewton(problem, damping, options) if gauss_newton else solver.operator(problem, damping, options)
    return solver.solve(operator, rhs, **settings)


def product(problem: ModuleProblem, vectors, damping: float = 0.0, rows=None, gauss_newton: bool = False,
            options: Options | None = None):
    """(curvature + damping·I)V."""
    return (GaussNewton if gauss_newton else Hessian)(problem, damping, options, rows) @ vectors
