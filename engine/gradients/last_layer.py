r"""Inner products of gradients in one linear layer alone, as a step of it with every other parameter frozen has them.

    ⟨∂(s·f(q))/∂W, ∂ℓ(z_k)/∂W⟩ = Σ_t Σ_t' (A_qt · A_kt')(G_qt · G_kt'),   Wφ + b with A what it reads, G its gradients
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import Tensor

from engine.gradients.chunks import BUDGET, CEILINGS, unchecked
from engine.gradients.factors import FactoredLayer, captured
from engine.gradients.forms import Outer
from engine.gradients.model import Differentiable
from engine.gradients.vectorised import Read, along_signal
from engine.models.losses import differentiable


def products_in(problem: Differentiable, name: str, queries: Tensor, signal: Tensor, rows: Tensor,
                budget: int = BUDGET, *, check: Callable[[], None] = unchecked) -> Tensor:
    """For queries (m, …), signals (m, C) and training examples `rows` (b,), in the layer called `name`: (m, b)."""
    values = signal.new_empty(len(queries), len(rows))
    loss = differentiable(problem.loss)
    for columns, training in _held(problem, name, *problem.units(rows), loss, budget):
        for rows_of_queries, own in _held(problem, name, queries, signal, along_signal, budget):
            check()
            values[rows_of_queries, columns] = own.inner(training).to(values)
    return values


def _held(problem: Differentiable, name: str, x: Tensor, targets: Tensor, read: Read, budget: int
          ) -> Iterator[tuple[slice, Outer]]:
    """The gradients of a layer, as many examples at a time as an eighth of the budget holds."""
    bias = slice(0, 0) if problem.network.module.get_submodule(name).bias is not None else None
    start, count = 0, 1
    while start < len(x):
        chunk = slice(start, min(start + count, len(x)))
        factors = captured(problem.network, [FactoredLayer(name, None, None)], x[chunk], targets[chunk], read)[name]
        yield chunk, Outer(slice(0, 0), bias, factors)
        start, one = chunk.stop, factors.numbers * factors.inputs.element_size() // len(factors)
        count = max(1, min(CEILINGS[problem.device.type], budget // 8 // max(one, 1)))
