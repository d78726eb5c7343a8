r"""How the gradients of one layer are held for a batch: as a sum of outer products, or written out.

    outer products   ∇_W = Σ_t G_t A_tᵀ, ∇_bias = Σ_t G_t    inputs A (b, T, i), output gradients G (b, T, o)
    written out      one row a parameter and example         (b, p)

Inner products of the first kind need T·T'·(i + o) multiply-adds a pair, (A·A' + bias)(G·G') summed over t and t', and
those of the second i·o; `forms_of` takes the cheaper (Goodfellow 2015 for T = 1; Rochette et al. 2019).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PIECE = 1 << 24
"""Numbers in a temporary array: 64 MiB in float32."""


@dataclass(frozen=True)
class Factors:
    """A (b, T, i) and G (b, T, o) of one layer.

    patch: of a convolution the order (height, width, channels) of the inputs of a place, with their sizes; its weights
    lie in the order (channels, height, width).
    """

    inputs: Tensor
    outputs: Tensor
    patch: tuple[int, int, int] | None = None

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """T, i, o."""
        return *self.inputs.shape[1:], self.outputs.shape[2]

    @property
    def numbers(self) -> int:
        return self.inputs.numel() + self.outputs.numel()

    def split(self, count: int) -> Iterator[Factors]:
        """The same, `count` examples at a time."""
        for inputs, outputs in zip(self.inputs.split(count), self.outputs.split(count), strict=True):
            yield Factors(inputs, outputs, self.patch)

    def weight_gradients(self) -> Tensor:
        """Σ_t G_t A_tᵀ as rows of the weight, (b, o·i); a small product is fast with the longer side in the columns."""
        steps, i, o = self.sizes
        if steps == 1:
            return (self.outputs.mT * self.inputs).flatten(1)
        gradients = (self.inputs.mT @ self.outputs).mT if i < o else self.outputs.mT @ self.inputs
        return (gradients.unflatten(2, self.patch).permute(0, 1, 4, 2, 3) if self.patch else gradients).flatten(1)

    def bias_gradients(self) -> Tensor:
        """Σ_t G_t, (b, o)."""
        return self.outputs.sum(1)


def added(factors: Sequence[Factors]) -> Factors:
    """The factors of a layer that was called several times: its calls along T."""
    if len(factors) == 1:
        return factors[0]
    return Factors(torch.cat([one.inputs for one in factors], 1), torch.cat([one.outputs for one in factors], 1),
                   factors[0].patch)


@dataclass(frozen=True)
class RowGradients:
    """Gradients (b, p) of the parameters that lie at `columns` in θ."""

    columns: slice
    values: Tensor

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    def inner(self, other: RowGradients) -> Tensor:
        """⟨g_q, g_k⟩ for all pairs: (b, b')."""
        return self.values @ other.values.T

    def squares(self) -> Tensor:
        """‖g_k‖², (b,)."""
        return torch.linalg.vecdot(self.values, self.values)

    def along(self, directions: Tensor) -> Tensor:
        """⟨g_k, v⟩ for directions (r, P): shape (b, r)."""
        return self.values @ directions[:, self.columns].T

    def write(self, out: Tensor) -> None:
        """g_k into its places in rows of θ, (b, P)."""
        out[:, self.columns] = self.values


@dataclass(frozen=True)
class Outer:
    """Gradients of a weight at `columns` in θ, and of its bias where that counts too, as their factors."""

    columns: slice
    bias: slice | None
    factors: Factors

    @property
    def nbytes(self) -> int:
        return self.factors.inputs.nbytes + self.factors.outputs.nbytes

    def inner(self, other: Outer) -> Tensor:
        """Σ_tt' (A_t·A'_t' + bias)(G_t·G'_t') for all pairs: (b, b')."""
        b, own, steps = len(other.factors), self.factors.sizes[0], other.factors.sizes[0]
        inputs, outputs = other.factors.inputs.flatten(0, 1).T, other.factors.outputs.flatten(0, 1).T
        columns = []
        for chunk in self.factors.split(max(1, PIECE // (own * inputs.shape[1]))):
            products = chunk.inputs.flatten(0, 1) @ inputs
            if self.bias:
                products += 1
            products *= chunk.outputs.flatten(0, 1) @ outputs
            columns.append(products.reshape(-1, own, b, steps).sum((1, 3)) if own * steps > 1 else products)
        return torch.cat(columns)

    def squares(self) -> Tensor:
        """‖g_k‖², (b,)."""
        products = self.factors.inputs @ self.factors.inputs.mT
        if self.bias:
            products += 1
        return (products * (self.factors.outputs @ self.factors.outputs.mT)).sum((1, 2))

    def along(self, directions: Tensor) -> Tensor:
        """⟨g_k, v⟩ for directions (r, P): shape (b, r)."""
        _, i, o = self.factors.sizes
        chunks = self.factors.split(max(1, PIECE // (i * o)))
        values = torch.cat([chunk.weight_gradients() @ directions[:, self.columns].T for chunk in chunks])
        return values + self.factors.bias_gradients() @ directions[:, self.bias].T if self.bias else values

    def written(self) -> list[RowGradients]:
        """The same, written out."""
        weight = RowGradients(self.columns, self.factors.weight_gradients())
        return [weight, RowGradients(self.bias, self.factors.bias_gradients())] if self.bias else [weight]

    def write(self, out: Tensor) -> None:
        """g_k into its places in rows of θ, (b, P)."""
        steps, i, o = self.factors.sizes
        if steps == 1:
            torch.mul(self.factors.outputs.mT, self.factors.inputs, out=out[:, self.columns].unflatten(1, (o, i)))
        else:
            out[:, self.columns] = self.factors.weight_gradients()
        if self.bias:
            out[:, self.bias] = self.factors.bias_gradients()


Form = RowGradients | Outer


def forms_of(factors: Factors, weight: slice | None, bias: slice | None) -> list[Form]:
    """The cheapest forms of one layer's gradients, for the places in θ of its weight and bias (None: not selected)."""
    steps, i, o = factors.sizes
    if weight and steps**2 * (i + o) < i * o:
        return [Outer(weight, bias, Factors(compact(factors.inputs), compact(factors.outputs), factors.patch))]
    written: list[Form] = [RowGradients(weight, factors.weight_gradients())] if weight else []
    return written + ([RowGradients(bias, factors.bias_gradients())] if bias else [])


def compact(values: Tensor) -> Tensor:
    """The same values, without the larger memory that they may be a view of."""
    return values.clone() if values.untyped_storage().nbytes() > values.nbytes else values


def inner_products(left: Sequence[Form], right: Sequence[Form]) -> Tensor:
    """⟨g_q, g_k⟩ over all layers: (b, b')."""
    if [type(form) for form in left] != [type(form) for form in right]:  # of inputs of other lengths
        left, right = _written(left), _written(right)
    return _sum(_inner(own, other) for own, other in zip(left, right, strict=True))


def _written(forms: Sequence[Form]) -> list[RowGradients]:
    return [rows for form in forms for rows in (form.written() if isinstance(form, Outer) else [form])]


def _inner(own: Form, other: Form) -> Tensor:
    if isinstance(own, RowGradients) and isinstance(other, RowGradients):
        return own.inner(other)
    if isinstance(own, Outer) and isinstance(other, Outer):
        return own.inner(other)
    raise TypeError("the gradients of one layer are held in two forms")


def squared_norms(forms: Sequence[Form]) -> Tensor:
    """‖g_k‖² over all layers: (b,)."""
    return _sum(form.squares() for form in forms)


def along(forms: Sequence[Form], directions: Tensor) -> Tensor:
    """⟨g_k, v⟩ over all layers for directions (r, P): (b, r)."""
    return _sum(form.along(directions) for form in forms)


def _sum(terms: Iterator[Tensor]) -> Tensor:
    total = next(terms)
    for term in terms:
        total += term
    return total
