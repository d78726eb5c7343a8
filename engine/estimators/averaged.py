r"""The mean curvature of a stretch of a training, of which functions of a symmetric matrix are read off.

Under an optimizer that scales every parameter's gradient by d (P,), as Adam does by 1/(√v̂ + ε), a flow along D H is
similar to one along the symmetric D^½ H D^½ (`Scaled`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from engine.curvature.kronecker import KroneckerFactors
from engine.curvature.lanczos import lanczos
from engine.problems import ModuleProblem

KRYLOV = 80
"""Vectors of a Lanczos space: e^{−τλ} needs about √(τλ) of them."""

Read = Callable[[Tensor], Tensor]
"""A function of eigenvalues of any shape, entry by entry."""
Product = Callable[[Tensor], Tensor]
"""A symmetric matrix times vectors, (P, 1) -> (P, 1)."""


class Averaged(Protocol):
    """A mean curvature that functions can be read off."""

    @property
    def largest(self) -> float:
        """Its largest eigenvalue; infinite where that is not known."""

    def applied(self, columns: Tensor, reads: Sequence[Read]) -> list[Tensor]:
        """f(H) V for V (P, r) and each of several f."""


@dataclass(frozen=True)
class Eigenbasis:
    """Of a symmetric matrix: values (P,), vectors (P, P)."""

    values: Tensor
    vectors: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> Eigenbasis:
        """Of a matrix (P, P)."""
        return cls(*torch.linalg.eigh(matrix))

    @property
    def largest(self) -> float:
        return float(self.values[-1])

    def applied(self, columns: Tensor, reads: Sequence[Read]) -> list[Tensor]:
        """f(H) V."""
        inner = self.vectors.T @ columns.to(self.vectors)
        return [(self.vectors @ (read(self.values)[:, None] * inner)).to(columns) for read in reads]


@dataclass(frozen=True)
class Krylov:
    """A product with vectors: functions of it are read off Lanczos spaces of KRYLOV vectors, one a column."""

    product: Product
    largest: float = math.inf

    def applied(self, columns: Tensor, reads: Sequence[Read]) -> list[Tensor]:
        """f(H) V, right to rounding where the space holds V's part of the spectrum."""
        by_column = [self._column(column, reads) for column in columns.T]
        return [torch.stack(values, 1) for values in zip(*by_column, strict=True)]

    def _column(self, column: Tensor, reads: Sequence[Read]) -> list[Tensor]:
        length = column.norm()
        if not length:
            return [column for _ in reads]
        space = lanczos(lambda vector: self.product(vector[:, None])[:, 0], column, KRYLOV)
        return [length * (space.basis.T @ (space.coordinates @ (space.coordinates[0] * read(space.values))).to(column))
                for read in reads]


@dataclass(frozen=True)
class Factored:
    """EK-FAC's eigenbasis of a network."""

    problem: ModuleProblem
    factors: KroneckerFactors
    largest: float = math.inf

    def applied(self, columns: Tensor, reads: Sequence[Read]) -> list[Tensor]:
        """f(H) V."""
        return [self.factors.applied(self.problem, columns, read) for read in reads]

    def product(self, vectors: Tensor) -> Tensor:
        """H V."""
        return self.factors.applied(self.problem, vectors, lambda values: values)


def scaled(product: Product, root: Tensor, decay: float) -> Krylov:
    """D^½ (H + λI) D^½ of a product with H, D^½ (P,) and λ."""
    across = root[:, None]
    return Krylov(lambda vectors: across * (product(across * vectors) + decay * across * vectors))
