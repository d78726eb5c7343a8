r"""Two classes in the plane, and one more point that the reader moves.

The model is softmax regression with an intercept on a fixed set D of points. The moved point z is added with the
weight of one example, α = 1/n:

    exact        argmin_θ L_D(θ) + α ℓ(z; θ)
    linearised   θ_D − α H⁻¹ ∇ℓ(z; θ_D), H the Hessian of L_D

The decision boundary of a model is where both classes get the same logit: a line in the plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from engine.models import softmax

POINTS, L2, SEED = 15, 0.02, 4
SIDE = 3.0
"""The plane runs from −SIDE to SIDE both ways."""
QUERY = (0.2, 0.3, 1)
"""(x, y, label) of the query that is watched."""


@dataclass(frozen=True)
class Model:
    """A model of the plane. weights (3, 2); boundary: (a, b, c) of a·x + b·y + c = 0; probability: of the query's
    label at the query."""

    weights: Tensor
    boundary: tuple[float, float, float]
    probability: float

    def line(self) -> np.ndarray:
        """The ends (2, 2) of the boundary inside the square, or (0, 2) where it does not meet it."""
        a, b, c = self.boundary
        ends = []
        for side in (-SIDE, SIDE):
            if b and abs(y := -(a * side + c) / b) <= SIDE:
                ends.append((side, y))
            if a and abs(x := -(b * side + c) / a) <= SIDE:
                ends.append((x, side))
        return np.array(sorted(set(ends))[:1] + sorted(set(ends))[-1:]) if len(set(ends)) > 1 else np.empty((0, 2))


@dataclass(frozen=True)
class ToyModels:
    """The model without the moved point, the exact one with it, and the linearised one."""

    factual: Model
    exact: Model
    linearised: Model


def points() -> tuple[np.ndarray, np.ndarray]:
    """The fixed points (n, 2) and their labels (n,), 0 below left and 1 above right."""
    rng = np.random.default_rng(SEED)
    labels = np.repeat([0, 1], POINTS)
    return np.clip(rng.normal(size=(2 * POINTS, 2)) * 0.75 + np.where(labels, 0.9, -0.9)[:, None], -SIDE, SIDE), labels


def answer(x: float, y: float, label: int) -> ToyModels:
    """What the point (x, y) of a class does to the model."""
    features, labels, weights, hessian = _factual()
    point = torch.tensor([[x, y, 1.0]], dtype=torch.float64)
    alpha = 1.0 / len(labels)
    signal = (point @ weights).softmax(-1)[0]
    signal[label] -= 1.0
    move = torch.linalg.solve(hessian, torch.outer(point[0], signal).flatten()).view_as(weights)
    return ToyModels(_model(weights), _model(_with(features, labels, point, label)), _model(weights - alpha * move))


STEP = 0.1
"""Distance of the places of `everywhere`."""


def everywhere(label: int) -> dict[str, np.ndarray]:
    """`answer` for a point of this class at every place of the plane, `STEP` apart, all at once.

    Returns arrays over the m = (2 SIDE / STEP + 1)² grid: x and y (m,); exact and linearised, the boundaries (m, 3);
    exact_probability and linearised_probability (m,). With two classes only d = θ₁ − θ₀ matters, of which the penalty
    is half as large: Newton's steps on m logistic regressions of three weights.
    """
    features, labels, weights, hessian = _factual()
    side = np.round(np.arange(-SIDE, SIDE + STEP / 2, STEP), 6)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
    points = torch.as_tensor(np.column_stack([grid, np.ones(len(grid))]))
    exact = _newton(features, labels, points, label, (weights[:, 1] - weights[:, 0]).expand(len(points), -1))
    signal = (points @ weights).softmax(-1)
    signal[:, label] -= 1.0
    gradient = (points[:, :, None] * signal[:, None, :]).flatten(1)
    moved = weights - torch.linalg.solve(hessian, gradient.T).T.view(-1, *weights.shape) / len(labels)
    linearised = moved[:, :, 1] - moved[:, :, 0]
    x, y, watched = QUERY
    query, sign = torch.tensor([x, y, 1.0], dtype=torch.float64), 2 * watched - 1
    return {"x": grid[:, 0], "y": grid[:, 1], "exact": exact.numpy(), "linearised": linearised.numpy(),
            "exact_probability": (sign * exact @ query).sigmoid().numpy(),
            "linearised_probability": (sign * linearised @ query).sigmoid().numpy()}


def _newton(features: Tensor, labels: Tensor, points: Tensor, label: int, start: Tensor) -> Tensor:
    """The optima (m, 3) of L_D + ℓ(z)/n for each point z, by steps that are halved until the objective falls."""
    n, penalty, signs = len(labels), torch.diag(_penalty() / 2), 2.0 * labels - 1
    sign = 2.0 * label - 1

    def objective(at: Tensor) -> Tensor:
        own = softplus(-sign * (at * points).sum(-1))
        return (softplus(-signs * (at @ features.T)).sum(-1) + own) / n + 0.5 * torch.einsum(
            "mi,ij,mj->m", at, penalty, at)

    weights = start.clone()
    for _ in range(60):
        chance, own = (weights @ features.T).sigmoid(), (weights * points).sum(-1).sigmoid()
        gradient = (chance - labels) @ features / n + (own - label)[:, None] * points / n + weights @ penalty
        hessian = (torch.einsum("mk,ki,kj->mij", chance * (1 - chance), features, features)
                   + (own * (1 - own))[:, None, None] * points[:, :, None] * points[:, None, :]) / n + penalty
        move, before = torch.linalg.solve(hessian, gradient), objective(weights)
        if float(move.abs().max()) < 1e-11:
            break
        for _ in range(20):
            risen = objective(weights - move) > before + 1e-15
            move[risen] /= 2
        weights = weights - move
    return weights


def _penalty() -> Tensor:
    return torch.tensor([L2, L2, 0.0], dtype=torch.float64)


@cache
def _factual() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, classes = points()
    features = torch.as_tensor(np.column_stack([x, np.ones(len(x))]))
    labels = torch.as_tensor(classes)
    weights = softmax.fit(features, labels, 2, _penalty()).weights
    hessian = softmax.hessian((features @ weights).softmax(-1), features, _penalty())
    return features, labels, weights, softmax.pin_intercept(hessian, 2)


def _with(features: Tensor, labels: Tensor, point: Tensor, label: int) -> Tensor:
    """The optimum of L_D + ℓ(z)/n: that of the mean over n + 1 points, with the penalty scaled alike."""
    n = len(labels)
    both = torch.cat([labels, torch.tensor([label])])
    return softmax.fit(torch.cat([features, point]), both, 2, _penalty() * n / (n + 1)).weights


def _model(weights: Tensor) -> Model:
    a, b, c = (weights[:, 1] - weights[:, 0]).tolist()
    x, y, label = QUERY
    probability = (torch.tensor([[x, y, 1.0]], dtype=torch.float64) @ weights).softmax(-1)[0, label].item()
    return Model(weights, (a, b, c), probability)
