r"""Multinomial logistic (softmax) regression: objective, derivatives and a fit to machine precision.

L_D(W) = (1/n) Σ_i ℓ(z_i; W) + (1/2) Σ_j λ_j ‖W_j‖², with ℓ the cross-entropy of the logits xᵀW,
x ∈ R^D, W ∈ R^{D×C}, and λ_j = λ for a weight, 0 for the intercept. Everything is float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from engine.basics.errors import InvalidInput
from engine.models.linear_solvers import by_factor, conjugate_gradients

ROWS = 4096
GRADIENT_TOLERANCE = 1e-12
DENSE_LIMIT = 12_000


@dataclass(frozen=True)
class Fit:
    """The factual optimum: weights (D, C), its gradient norm, and how many iterations it took."""

    weights: Tensor
    gradient_norm: float
    lbfgs_iterations: int
    newton_iterations: int


def objective(weights: Tensor, x: Tensor, y: Tensor, l2: Tensor) -> Tensor:
    """L_D(W), a scalar. x (n, D), y (n,), l2 (D,)."""
    return cross_entropy(x @ weights, y) + 0.5 * (l2[:, None] * weights.square()).sum()


def gradient(weights: Tensor, x: Tensor, y: Tensor, l2: Tensor, shares: Tensor | None = None) -> Tensor:
    """∇L_D(W) = xᵀ(P − Y)/n + λ∘W, shape (D, C); shares (n,): in place of 1/n."""
    residual = (x @ weights).softmax(-1)
    residual[torch.arange(len(y), device=y.device), y] -= 1.0
    mean = x.T @ residual / len(y) if shares is None else x.T @ (residual * shares[:, None])
    return mean + l2[:, None] * weights


def hessian(probabilities: Tensor, x: Tensor, l2: Tensor) -> Tensor:
    """∇²L_D as a dense (D·C, D·C) matrix, indices ordered (feature, class).

    H[(j,c),(j',c')] = (1/n) Σ_i x_ij x_ij' (p_ic 1[c=c'] − p_ic p_ic') + λ_j 1[j=j', c=c'].
    Rows of class-sum-zero blocks sum to zero over c', so the last class's blocks follow from the others.
    """
    n, d = x.shape
    c = probabilities.shape[1]
    blocks = x.new_zeros(d, c, d, c)
    for a in range(c - 1):
        for b in range(a, c - 1):
            weight = -probabilities[:, a] * probabilities[:, b]
            if a == b:
                weight = weight + probabilities[:, a]
            block = x.T @ (x * (weight / n)[:, None])
            blocks[:, a, :, b] = block
            blocks[:, b, :, a] = block
    blocks[:, :-1, :, -1] = -blocks[:, :-1, :, :-1].sum(-1)
    blocks[:, -1] = -blocks[:, :-1].sum(1)
    dense = blocks.view(d * c, d * c)
    dense.diagonal().add_(l2.repeat_interleave(c))
    return dense


def hessian_vector(vectors: Tensor, probabilities: Tensor, x: Tensor, l2: Tensor) -> Tensor:
    """∇²L_D·V for V of shape (D, C, b), without forming the Hessian; probabilities (n, C)."""
    d, c, b = vectors.shape
    out = l2[:, None, None] * vectors
    for start in range(0, len(x), ROWS):
        rows, p = x[start:start + ROWS], probabilities[start:start + ROWS, :, None]
        u = (rows @ vectors.reshape(d, c * b)).view(-1, c, b)
        u = p * (u - (p * u).sum(1, keepdim=True))
        out += (rows.T @ u.view(-1, c * b)).view(d, c, b) / len(x)
    return out


def factor(dense: Tensor) -> Tensor:
    """The Cholesky factor L of a Hessian H = LLᵀ, in H's own memory: `dense` is overwritten.

    Raises `InvalidInput` where it is not positive definite.
    """
    factored, info = dense.mT, torch.empty((), dtype=torch.int32, device=dense.device)  # LAPACK writes by columns
    torch.linalg.cholesky_ex(factored, out=(factored, info))
    if info.item():
        raise InvalidInput("The Hessian is not positive definite; raise l2 or the damping, or scale the features to "
                           "about [0, 1].")
    return factored


def pin_intercept(dense: Tensor, classes: int) -> Tensor:
    """Make the Hessian of a model with an unregularised intercept (its last feature) definite, in place.

    Adding one number to every class's intercept changes no probability, so the Hessian is singular in
    that direction; a unit is added there, which no class-sum-zero vector sees.
    """
    dense[-classes:, -classes:] += 1.0 / classes
    return dense


def fit(x: Tensor, y: Tensor, classes: int, l2: Tensor, *, tolerance: float = GRADIENT_TOLERANCE,
        max_newton: int = 50, shares: Tensor | None = None) -> Fit:
    """L-BFGS to a rough optimum, then Newton until ‖∇L_D‖ < tolerance.

    x (n, D), y (n,), l2 (D,). shares (n,): of the examples in the loss, by default 1/n each. Newton factors the Hessian
    once and refreshes it when a step gains less than a digit; above DENSE_LIMIT parameters it solves by conjugate
    gradients instead. Raises `InvalidInput` if the tolerance is not reached.
    """
    weights, iterations = _lbfgs(x, y, classes, l2, x.new_full((len(y),), 1.0 / len(y)) if shares is None else shares)
    solve = None
    previous = float("inf")
    for step in range(max_newton + 1):
        g = gradient(weights, x, y, l2, shares)
        norm = g.norm().item()
        if norm < tolerance:
            return Fit(weights, norm, iterations, step)
        if solve is None or norm > 0.1 * previous:
            solve = _newton_solver(weights, x, l2, shares)
        previous = norm
        weights = weights - solve(g)
    raise InvalidInput(
        f"Training stopped at gradient norm {norm:.1e}, above {tolerance:.0e}; raise l2 or scale the features to "
        "about [0, 1]."
    )


def _lbfgs(x: Tensor, y: Tensor, classes: int, l2: Tensor, shares: Tensor) -> tuple[Tensor, int]:
    shape, penalty = (x.shape[1], classes), l2[:, None]
    targets, fractions = one_hot(y, classes).to(x.dtype), shares[:, None]

    def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = torch.as_tensor(flat, device=x.device).view(shape)
        log_p = (x @ weights).log_softmax(-1)
        value = -(log_p * targets * fractions).sum() + 0.5 * (penalty * weights.square()).sum()
        slope = x.T @ ((log_p.exp_() - targets) * fractions) + penalty * weights
        return value.item(), slope.flatten().cpu().numpy()

    optimum = minimize(value_and_gradient, torch.zeros(shape[0] * classes, dtype=x.dtype).numpy(), jac=True,
                       method="L-BFGS-B", options={"maxiter": 400, "maxcor": 20, "ftol": 0.0, "gtol": 1e-6})
    return torch.as_tensor(optimum.x, device=x.device).view(shape), int(optimum.nit)


def _newton_solver(weights: Tensor, x: Tensor, l2: Tensor, shares: Tensor | None) -> Callable[[Tensor], Tensor]:
    probabilities = (x @ weights).softmax(-1)
    if shares is not None:
        x = x * (len(x) * shares).sqrt()[:, None]
    d, c = weights.shape
    if d * c <= DENSE_LIMIT:
        dense = hessian(probabilities, x, l2)
        factored = factor(pin_intercept(dense, c) if l2[-1] == 0 else dense)
        return lambda g: by_factor(factored, g.reshape(-1, 1)).view(d, c)
    apply = partial(hessian_vector, probabilities=probabilities, x=x, l2=l2)
    return lambda g: conjugate_gradients(apply, g[..., None], tolerance=1e-4, limit=2_000).x[..., 0]
