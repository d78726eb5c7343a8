"""What the curvature matrices of a torch module have in common: products by automatic differentiation, Lanczos."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.eigenpairs import Eigenpairs, by_lanczos
from engine.curvature.graphs import Graphs, Product
from engine.curvature.model import CurvedModule
from engine.curvature.operator import Operator
from engine.curvature.shifts import times

STEPS_PER_RANK = 3
"""Lanczos steps a kept eigenpair: the basis holds rank · STEPS_PER_RANK vectors (P,)."""


class ModuleOperator(Operator):
    """C + δI of a `ModuleProblem` at θ_D, in the module's precision.

    A product takes about four to five gradients' work an example and right-hand side, twice that for the first;
    memory: options.budget bytes besides the result. graphs: given by `damped` alone.
    """

    problem: CurvedModule
    power_steps: ClassVar = (10, 3)

    def __init__(self, problem: CurvedModule, damping: float = 0.0, options: Options | None = None,
                 rows: Tensor | None = None, graphs: Graphs | None = None) -> None:
        super().__init__(problem, damping, options, rows)
        chosen = torch.arange(problem.n, device=problem.device) if rows is None else rows
        self.measured = problem.link.measured
        self._graphs = Graphs(problem, chosen, type(self).summed, self.options) if graphs is None else graphs

    @staticmethod
    @abstractmethod
    def summed(problem: CurvedModule, rows: Tensor) -> Product:
        """V (r, P) -> Σ_i C_i V (r, P) over `rows`, on a graph that is kept."""

    @property
    def dtype(self) -> torch.dtype:
        return self.problem.theta.dtype

    def matmul(self, vectors: Tensor) -> Tensor:
        shift, product = self.problem.l2 + self.damping, self._graphs.product(vectors)
        return product.add_(vectors, alpha=shift) if isinstance(shift, float) else product.add_(times(shift, vectors))

    def of_losses(self, vectors: Tensor) -> Tensor:
        """Without penalty and damping."""
        return self._graphs.product(vectors)

    def damped(self, damping: float) -> ModuleOperator:
        return type(self)(self.problem, damping, self.options, self.rows, self._graphs)

    @property
    def facts(self) -> dict[str, float]:
        return {"residual_of_gauss_newton": float(self.gauss_newton)}

    def along(self, vector: Tensor) -> Tensor:
        """C v for v (P,)."""
        return self.damped(0.0).matmul(vector[:, None])[:, 0]

    def eigenpairs(self, rank: int) -> Eigenpairs:
        """By rank · STEPS_PER_RANK Lanczos steps, each a product with all n examples.

        Memory: rank · (STEPS_PER_RANK + 1) · P numbers. Raises `InvalidInput` where that exceeds the budget.
        """
        return self.memo(f"arnoldi:{rank}:{self.gauss_newton}", lambda: self._eigenpairs(rank))

    def _eigenpairs(self, rank: int) -> Eigenpairs:
        steps, done = min(self.size, STEPS_PER_RANK * rank), 0
        needed = (steps + rank) * self.size * torch.finfo(self.dtype).bits // 8
        if needed > self.options.budget:
            raise InvalidInput(f"The Lanczos basis for rank {rank} needs {needed / 2**30:.1f} GiB, more than the "
                               f"budget of {self.options.budget / 2**30:.1f} GiB; use a lower rank or select fewer "
                               "parameters.")

        def apply(vector: Tensor) -> Tensor:
            nonlocal done
            done += 1
            self.options.progress(done / steps)
            return self.along(vector)

        return by_lanczos(apply, self.random_start(), steps, rank)
