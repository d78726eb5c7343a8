"""The curvature of a network's loss at any θ and on any examples, as a product with vectors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.graphs import Graphs
from engine.curvature.hessian import hessian_map
from engine.curvature.shifts import Shift
from engine.problems import ModuleProblem

T = TypeVar("T")
Product = Callable[[Tensor], Tensor]


class _Elsewhere:
    """What curvature reads of a problem, with another θ (P,) and other examples x (b, …), y (b,)."""

    l2: Shift = 0.0

    def __init__(self, problem: ModuleProblem, theta: Tensor, x: Tensor, y: Tensor) -> None:
        self.problem, self.network, self.loss, self.device = problem, problem.network, problem.loss, problem.device
        self.theta, self.x, self.y, self.link = theta, x, y, problem.link
        self.n, self.parameters, self.classes = len(y), problem.parameters, problem.classes

    def units(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return self.x[rows], self.y[rows]

    def memo(self, key: str, build: Callable[[], T], version: Hashable = None) -> T:
        """Kept on the problem: what is asked for here depends on the architecture alone."""
        return self.problem.memo(key, build, version)


def curvature(problem: ModuleProblem, theta: Tensor, x: Tensor, y: Tensor, options: Options) -> Product:
    """V (P, r) -> (1/b) Σ_i ∇²ℓ(x_i, y_i; θ) V (P, r) over examples x (b, …), y (b,), on graphs that are kept.

    Raises `InvalidInput`, once it is called, for a model with an operation that cannot be differentiated twice.
    """
    rows = torch.arange(len(y), device=problem.device)
    return Graphs(_Elsewhere(problem, theta, x, y), rows, hessian_map, options).product
