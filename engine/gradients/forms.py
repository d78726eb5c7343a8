r"""How the gradients of one layer are held for a batch: as a sum of outer products, or written out.

    outer products   ∇_W = Σ_t G_t A_tᵀ, ∇_bias = Σ_t G_t    inputs A (b, T, i), output gradients G (b, T, o)
    written out      one row a parameter and example         (b, p)

Inner products of the first kind need T·T'·(i + o) multiply-adds a pair, (A·A' + bias)(G·G') summed over t and t', and
those of the second i·o; `outer_or_rows` takes the cheaper (Goodfellow 2015 for T = 1; Rochette et al. 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PIECE = 1 << 24
"""Numbers in a temporary array: 64 MiB in float32."""


@dataclass(frozen=True)
class Rows:
    """Gradients (b, p) of the parameters that lie at `place` in θ."""

    place: slice
    values: Tensor

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def inner(self, other: Rows) -> Tensor:
        """⟨g_q, g_k⟩ for all pairs: (b, b')."""
        return self.values @ other.values.T

    def squares(self) -> Tensor:
        """‖g_k‖², (b,)."""
        return torch.linalg.vecdot(self.values, self.values)

    def along(self, directions: Tensor) -> Tensor:
        """⟨g_k, v⟩ for directions (r, P): shape (b, r)."""
        return self.values @ directions[:, self.place].T


@dataclass(frozen=True)
class Outer:
    """Gradients Σ_t G_t A_tᵀ of a weight at `place` in θ, and Σ_t G_t of its bias where that counts too."""

    place: slice
    bias: slice | None
    inputs: Tensor
    outputs: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def nbytes(self) -> int:
        return self.inputs.nbytes + self.outputs.nbytes

    def inner(self, other: Outer) -> Tensor:
        """Σ_tt' (A_t·A'_t' + bias)(G_t·G'_t') for all pairs: (b, b')."""
        own, steps = self.inputs.shape[1], other.inputs.shape[1]
        inputs, outputs = other.inputs.flatten(0, 1).T, other.outputs.flatten(0, 1).T
        piece = max(1, PIECE // (own * inputs.shape[1]))
        found = []
        for a, g in zip(self.inputs.split(piece), self.outputs.split(piece), strict=True):
            products = a.flatten(0, 1) @ inputs
            if self.bias:
                products += 1
            products *= g.flatten(0, 1) @ outputs
            found.append(products.reshape(len(a), own, len(other), steps).sum((1, 3)) if own * steps > 1 else products)
        return torch.cat(found)

    def squares(self) -> Tensor:
        """‖g_k‖², (b,)."""
        products = self.inputs @ self.inputs.mT
        if self.bias:
            products += 1
        return (products * (self.outputs @ self.outputs.mT)).sum((1, 2))

    def along(self, directions: Tensor) -> Tensor:
        """⟨g_k, v⟩ for directions (r, P): shape (b, r)."""
        piece = max(1, PIECE // (self.inputs.shape[2] * self.outputs.shape[2]))
        parts = zip(self.inputs.split(piece), self.outputs.split(piece), strict=True)
        found = torch.cat([(g.mT @ a).flatten(1) @ directions[:, self.place].T for a, g in parts])
        return found + self.outputs.sum(1) @ directions[:, self.bias].T if self.bias else found


Form = Rows | Outer


def outer_or_rows(inputs: Tensor, outputs: Tensor, weight: slice | None, bias: slice | None) -> list[Form]:
    """The cheapest forms of one layer's gradients, from A (b, T, i), G (b, T, o) and its places in θ, if any."""
    steps, i, o = *inputs.shape[1:], outputs.shape[2]
    if weight and steps**2 * (i + o) < i * o:
        return [Outer(weight, bias, kept(inputs), kept(outputs))]
    written = [Rows(weight, (outputs.mT @ inputs).flatten(1))] if weight else []
    return written + ([Rows(bias, outputs.sum(1))] if bias else [])


def kept(values: Tensor) -> Tensor:
    """The same values, without the larger memory that they may be a view of."""
    return values.clone() if values.untyped_storage().nbytes() > values.nbytes else values


def inner_products(left: Sequence[Form], right: Sequence[Form]) -> Tensor:
    """⟨g_q, g_k⟩ over all layers: (b, b')."""
    return _sum(own.inner(other) for own, other in zip(left, right, strict=True))


def squared_norms(forms: Sequence[Form]) -> Tensor:
    """‖g_k‖² over all layers: (b,)."""
    return _sum(form.squares() for form in forms)


def along(forms: Sequence[Form], directions: Tensor) -> Tensor:
    """⟨g_k, v⟩ over all layers for directions (r, P): (b, r)."""
    return _sum(form.along(directions) for form in forms)


def _sum(parts) -> Tensor:
    total = next(parts)
    for part in parts:
        total += part
    return total
