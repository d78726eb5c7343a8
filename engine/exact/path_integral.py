r"""The path integral of an upweighting (paper, Eq. 7): what the behavior gains along the path of optima.

    B(q; θ_k(α)) − B(q; θ_k(0)) = ∫₀^α ∇B(q; θ_k(a))ᵀ dθ_k/da da,     dθ_k/da = −H_a⁻¹ ∇ℓ(z_k; θ_k(a)),

θ_k(a) the optimum of L_D + a·ℓ_k and H_a its Hessian there. The integral is taken by Gauss–Legendre quadrature at
re-optimised points, the left side at re-optimised ends: two routes to one estimand, whose gap is a diagnostic of the
process. Everything is dense and in float64, for small problems whose objective is strictly convex along the path.

The first moves of an example that already fits are the largest: the speed falls like 1/(a + c) with 1/c the example's
leverage, ‖H^{-1/2}∇ℓ_k‖²/‖s_ℓ‖². The nodes are therefore those of u = log(1 + a/c), in which the speed is even.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.intervened import InterventionFamily, Objective, intervened
from engine.gradients.response import signal_of
from engine.models.linear_solvers import by_factor
from engine.problems import Problem
from engine.question.behavior import Behavior
from engine.question.change import Change

LIMIT = 4_000
"""Parameters up to which the Hessian is built."""
TOLERANCE, ITERATIONS = 1e-14, 50


@dataclass(frozen=True)
class PathIntegral:
    """Both sides of Eq. 7 for every query, and the path.

    integral (m,), difference (m,): the two sides. alphas (nodes,): where the integrand (nodes, m) was evaluated.
    first (m,), last (m,): the integrand at 0 and at α; first·α is the inverse Hessian's answer. gradient_norm: the
    largest one at any point that was taken for an optimum.
    """

    integral: Tensor
    difference: Tensor
    alphas: Tensor
    integrand: Tensor
    first: Tensor
    last: Tensor
    gradient_norm: float

    @property
    def gap(self) -> float:
        """max_q |integral − difference|."""
        return (self.integral - self.difference).abs().max().item()


@dataclass(frozen=True)
class _Family:
    """The objectives L_D + a·ℓ_k of one candidate, as functions of one flat θ (P,)."""

    all: InterventionFamily
    candidate: int

    def objective(self, a: float) -> Objective:
        return self.all.objective([self.candidate], Change(own=a))

    def own_gradient(self, theta: Tensor) -> Tensor:
        return self.all.own(theta, [(1.0, self.candidate, self.all.label(self.candidate))])[1]


def path_integral(problem: Problem, candidate: int, alpha: float, behavior: Behavior, *, nodes: int = 8,
                  check: Callable[[], None] = lambda: None) -> PathIntegral:
    """Both sides of Eq. 7 for upweighting training example `candidate` from 0 to α > 0.

    A network in single precision is followed in float64. Raises `InvalidInput` above LIMIT parameters, for a behavior
    without a gradient, and where a Hessian on the path is not positive definite or no optimum is found.
    """
    if not 0 <= candidate < problem.n:
        raise InvalidInput(f"There is no training example {candidate}; choose one of 0 to {problem.n - 1:,}.")
    if problem.parameters > LIMIT:
        raise InvalidInput(f"The path integral needs the Hessian of {problem.parameters:,} parameters; select at most "
                           f"{LIMIT:,} of them.")
    problem, (behavior,) = problem.double().asking([behavior])
    family = _Family(intervened(problem, 0.0, Options()), candidate)
    read = partial(_read, behavior, problem.query_labels)
    here = _follow(family, None, 0.0)
    start, first = read(family, here)
    alphas, weights = quadrature(alpha, here.scale(problem, candidate), nodes)
    slopes, norms = [], [here.gradient_norm]
    for a in alphas.tolist():
        check()
        here = _follow(family, here, a)
        slopes.append(read(family, here)[1])
        norms.append(here.gradient_norm)
    here = _follow(family, here, alpha)
    end, last = read(family, here)
    integrand = torch.stack(slopes)
    return PathIntegral(weights.to(integrand) @ integrand, end - start, alphas, integrand, first, last,
                        max(*norms, here.gradient_norm))


def quadrature(alpha: float, scale: float, nodes: int) -> tuple[Tensor, Tensor]:
    """Gauss–Legendre nodes and weights on [0, α], those of u = log(1 + a/scale): two tensors (nodes,)."""
    nodes_there, weights = np.polynomial.legendre.leggauss(nodes)
    end = np.log1p(alpha / scale)
    u = end * (1 + nodes_there) / 2
    return torch.as_tensor(scale * np.expm1(u)), torch.as_tensor(0.5 * end * weights * scale * np.exp(u))


@dataclass(frozen=True)
class _Station:
    """A point of the path: a, θ_k(a), dθ_k/da, ∇ℓ_k there, and ‖∇F‖, which an optimum would have at 0."""

    a: float
    theta: Tensor
    velocity: Tensor
    force: Tensor
    gradient_norm: float

    def scale(self, problem: Problem, candidate: int) -> float:
        """c, one over the example's leverage; 1 for an example without a force."""
        signal = problem.training_signal(torch.tensor([candidate], device=self.theta.device)).square().sum()
        leverage = -(self.force @ self.velocity / signal).item()
        return 1.0 / leverage if 0 < leverage < np.inf else 1.0


def _follow(family: _Family, before: _Station | None, a: float) -> _Station:
    """The optimum at `a`, looked for where the last one was heading."""
    guess = family.all.start if before is None else before.theta + (a - before.a) * before.velocity
    theta, norm, factor = _optimum(family, guess, a)
    force = family.own_gradient(theta)
    return _Station(a, theta, -by_factor(factor, force[:, None])[:, 0], force, norm)


def _read(behavior: Behavior, labels: Tensor, family: _Family, here: _Station) -> tuple[Tensor, Tensor]:
    """(B (m,), dB/da (m,)) at a point of the path."""
    logits, change = family.all.logits_along(here.theta, here.velocity)
    return behavior.value(logits, labels), (signal_of(behavior, logits, labels) * change).sum(-1)


def _optimum(family: _Family, theta: Tensor, a: float) -> tuple[Tensor, float, Tensor]:
    """Newton with halved steps: (θ_k(a), ‖∇F‖, the Cholesky factor of H_a there)."""
    objective = family.objective(a)
    value, gradient = objective.evaluate(theta)
    for _ in range(ITERATIONS):
        factor, info = torch.linalg.cholesky_ex(family.all.hessian(objective, theta))
        if info.item():
            raise InvalidInput("The Hessian is not positive definite on the path; raise l2, or select fewer "
                               "parameters, such as the last layer.")
        norm = gradient.norm().item()
        if norm <= TOLERANCE:
            return theta, norm, factor
        step = by_factor(factor, gradient[:, None])[:, 0]
        length, rounding = 1.0, 1e-14 * abs(value)
        moved = theta - step
        there, fresh = objective.evaluate(moved)
        while length > 1e-6 and not there <= value + rounding:
            length /= 2
            moved = theta - length * step
            there, fresh = objective.evaluate(moved)
        if norm < 1e-9 and not fresh.norm().item() < 0.5 * norm:
            return theta, norm, factor
        theta, value, gradient = moved, there, fresh
    raise InvalidInput(f"No optimum was found on the path within {ITERATIONS} Newton steps; raise l2.")
