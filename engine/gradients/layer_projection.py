r"""Projections R of the gradient of one layer, a matrix D = Σ_t g_t a_tᵀ (out, in), without writing it out.

    R D = S vec(P_out D P_inᵀ) = S vec(Σ_t (P_out g_t)(P_in a_t)ᵀ),   E RᵀR = I

P_out and P_in are dense (LoGra, Choe et al. 2024) or keep some coordinates (FactGraSS, Hu et al. 2025), and S is a
sparse sketch, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from engine.gradients.projectors import buckets


class Map(Protocol):
    """A linear map of vectors in the last dimension, and its transpose."""

    @property
    def count(self) -> int:
        """k."""

    def take(self, values: Tensor) -> Tensor:
        """(…, d) -> (…, k)."""

    def give(self, values: Tensor) -> Tensor:
        """(…, k) -> (…, d)."""


@dataclass(frozen=True, eq=False)
class Dense:
    """By a matrix (k, d)."""

    matrix: Tensor

    @property
    def count(self) -> int:
        return len(self.matrix)

    def take(self, values: Tensor) -> Tensor:
        return values @ self.matrix.T

    def give(self, values: Tensor) -> Tensor:
        return values @ self.matrix


@dataclass(frozen=True, eq=False)
class Mask:
    """Coordinates `selected` (k,) of d, times √(d/k)."""

    selected: Tensor
    size: int

    @property
    def count(self) -> int:
        return len(self.selected)

    @property
    def scale(self) -> float:
        return (self.size / self.count) ** 0.5

    def take(self, values: Tensor) -> Tensor:
        return self.scale * values[..., self.selected]

    def give(self, values: Tensor) -> Tensor:
        whole = values.new_zeros(*values.shape[:-1], self.size)
        whole[..., self.selected] = self.scale * values
        return whole


@dataclass(frozen=True, eq=False)
class Sketch:
    """Every coordinate goes, with a sign (d,), to one of k buckets (d,)."""

    bucket: Tensor
    sign: Tensor
    count: int

    def take(self, values: Tensor) -> Tensor:
        sums = values.new_zeros(*values.shape[:-1], self.count)
        return sums.index_add_(-1, self.bucket, values * self.sign)

    def give(self, values: Tensor) -> Tensor:
        return values[..., self.bucket] * self.sign


@dataclass(frozen=True, eq=False)
class LayerProjection:
    """R of one layer. outputs, inputs: P_out and P_in. sketch: S of the k_out · k_in numbers, row by row; None: I."""

    outputs: Map
    inputs: Map
    sketch: Map | None = None

    @property
    def count(self) -> int:
        """k."""
        return self.outputs.count * self.inputs.count if self.sketch is None else self.sketch.count

    def of(self, gradients: Tensor) -> Tensor:
        """R D of gradients (b, out, in): (b, k)."""
        return self._sketched(self.outputs.take(self.inputs.take(gradients).mT).mT)

    def of_factors(self, g: Tensor, a: Tensor) -> Tensor:
        """R Σ_t g_t a_tᵀ of g (b, t, out) and a (b, t, in): (b, k)."""
        return self._sketched(self.outputs.take(g).mT @ self.inputs.take(a))

    def transposed(self, values: Tensor) -> Tensor:
        """Rᵀ values of (b, k): (b, out, in)."""
        whole = values if self.sketch is None else self.sketch.give(values)
        small = whole.unflatten(1, (self.outputs.count, self.inputs.count))
        return self.outputs.give(self.inputs.give(small).mT).mT

    def _sketched(self, small: Tensor) -> Tensor:
        flat = small.flatten(1)
        return flat if self.sketch is None else self.sketch.take(flat)


def gaussian(size: int, k: int, generator: torch.Generator, like: Tensor) -> Dense:
    """Normal entries of variance 1/k, on the device and in the precision of `like`; the identity where k ≥ size."""
    matrix = torch.eye(size) if k >= size else torch.randn(k, size, generator=generator) / k**0.5
    return Dense(matrix.to(like))


def random_mask(size: int, k: int, generator: torch.Generator, like: Tensor) -> Mask:
    """k random coordinates, on the device of `like`; all of them where k ≥ size."""
    return Mask(torch.randperm(size, generator=generator)[:k].sort().values.to(like.device), size)


def random_sketch(size: int, k: int, generator: torch.Generator, like: Tensor) -> Sketch | None:
    """A count sketch (Charikar et al. 2002), on the device of `like`; None where k ≥ size."""
    if k >= size:
        return None
    bucket, sign = buckets(size, k, generator)
    return Sketch(bucket.to(like.device), sign.to(like.device), k)
