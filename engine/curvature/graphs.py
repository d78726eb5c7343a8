r"""Graphs of a module's gradient that are built once and pulled back for one right-hand side after another.

Chunks of examples are as large as the memory budget allows; where memory runs out all the same, they are halved.
Pulling a gradient's graph back takes half the time of `jvp` over `grad` under `vmap` on a CPU for 16 right-hand sides,
it asks for no forward-mode rule of the user's operations, and it is right for LayerNorm, whose second derivatives
`torch.func` gets wrong (pytorch issue 196700).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.model import CurvedModule
from engine.curvature.second_order import explained, refuse_once_differentiable, twice_differentiable
from engine.gradients.chunks import is_out_of_memory
from engine.models.losses import differentiable

Product = Callable[[Tensor], Tensor]
Build = Callable[[CurvedModule, Tensor], Product]
"""(problem, rows (b,)) -> V (r, P) -> Σ_i C_i V (r, P) over the rows, on a graph that is kept."""

COLUMNS = 32
"""At most so many right-hand sides share one graph; it costs as much as one of them."""
GRAPH_BYTES = {"cpu": 64 << 20, "cuda": 1 << 30}
"""A chunk of examples holds graphs of this size: on a CPU more only leaves the cache."""
BATCH_BYTES = {"cpu": 16 << 20, "cuda": 512 << 20}
"""Right-hand sides are batched by vmap while their tangents fit in this: below it calls cost more than arithmetic."""


class Graphs:
    """The mean (1/b) Σ_i C_i over rows (b,) as a product with vectors, for many calls.

    The graphs of all examples are kept between calls where they fit in a quarter of options.budget.
    """

    def __init__(self, problem: CurvedModule, rows: Tensor, build: Build, options: Options) -> None:
        self.problem, self.build, self.options = problem, build, options
        self.rows = problem.link.by_length(problem.x, rows)
        self.chunk, self.keeps = 0, True
        self.products: dict[int, Product] = {}

    def product(self, vectors: Tensor) -> Tensor:
        """(1/b) Σ_i C_i V for V (P, r) -> (P, r).

        Raises `InvalidInput` for a model with an operation that cannot be differentiated twice, or where one
        example's graph does not fit in memory; a warning says where chunks were made smaller.
        """
        while True:
            try:
                self.chunk = self.chunk or self._plan()
                return self._product(vectors)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    if refusal := explained(error):
                        raise refusal from None
                    raise
                if self.chunk < 2:
                    raise InvalidInput("The curvature of one example does not fit in memory; select fewer "
                                       "parameters, such as `last_block`.") from None
            self.keeps, self.products, self.chunk = False, {}, self.chunk // 2
            warnings.warn(f"Out of memory: curvature products continue with {self.chunk} examples at once.",
                          RuntimeWarning, stacklevel=3)

    def _plan(self) -> int:
        """Examples at once: their graph, and as much again while it is pulled back, fit in a quarter of the budget."""
        each = graph_bytes(self.problem)
        self.keeps = len(self.rows) * each <= self.options.budget // 4
        room = min(self.options.budget // 8, GRAPH_BYTES[self.problem.device.type])
        return max(1, min(len(self.rows), room // each))

    def _product(self, vectors: Tensor) -> Tensor:
        out, width = torch.empty_like(vectors), self._columns_at_once()
        step = max(1, min(COLUMNS, self.options.budget // 16 // (len(vectors) * vectors.element_size())))
        for start in range(0, vectors.shape[1], step):
            block = vectors[:, start:start + step].T.contiguous()
            total = torch.zeros_like(block)
            for index, rows in enumerate(self.rows.split(self.chunk)):
                product = self.products.get(index) or self.build(self.problem, rows)
                if self.keeps:
                    self.products[index] = product
                for k in range(0, len(block), width):
                    self.options.check()
                    total[k:k + width] += product(block[k:k + width])
            out[:, start:start + step] = total.T / len(self.rows)
        return out

    def _columns_at_once(self) -> int:
        room = min(self.options.budget // 8, BATCH_BYTES[self.problem.device.type])
        return max(1, min(COLUMNS, room // (self.chunk * graph_bytes(self.problem))))


def gradient_graph(problem: CurvedModule, rows: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """θ_D as leaves, and Σ_i ∇ℓ(z_i) over `rows` as a graph on them."""
    leaves = leaves_of(problem)
    with twice_differentiable():
        outputs = problem.network.at(problem.x[rows], named(problem, leaves))
        loss = differentiable(problem.loss)(outputs, problem.y[rows]).sum()
        gradients = torch.autograd.grad(loss, leaves, create_graph=True, materialize_grads=True)
        # a gradient that does not depend on θ has no graph of its own
        return leaves, [g + 0 * leaf for g, leaf in zip(gradients, leaves, strict=True)]


def pulled_back(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor]) -> tuple[Tensor, ...]:
    """The vector–Jacobian products of every leading index r of the cotangents; the graph is kept."""
    if len(cotangents[0]) > 1:
        try:
            return _gradients(outputs, inputs, cotangents, batched=True)
        except RuntimeError:  # an operation that vmap does not know, or too little memory for all at once
            pass
    each = [_gradients(outputs, inputs, [c[k] for c in cotangents], batched=False) for k in range(len(cotangents[0]))]
    return tuple(torch.stack(rows) for rows in zip(*each, strict=True))


def _gradients(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor], batched: bool) -> tuple:
    return torch.autograd.grad(outputs, inputs, cotangents, retain_graph=True, materialize_grads=True,
                               is_grads_batched=batched)


def leaves_of(problem: CurvedModule) -> list[Tensor]:
    """θ_D as one leaf a selected parameter, in the network's order."""
    return [value.detach().clone().requires_grad_(True) for value in problem.network.unflatten(problem.theta).values()]


def named(problem: CurvedModule, leaves: list[Tensor]) -> dict[str, Tensor]:
    """The leaves by the parameters' names."""
    return dict(zip(problem.network.names, leaves, strict=True))


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """One tensor (r, …) a parameter -> (r, P)."""
    return torch.cat([tensor.reshape(len(tensor), -1) for tensor in tensors], 1)


def graph_bytes(problem: CurvedModule) -> int:
    """What the graph of ∇ℓ keeps for one example, in bytes: measured on two examples less one."""
    def build(count: int) -> None:
        rows = torch.zeros(count, dtype=torch.long, device=problem.device)
        refuse_once_differentiable(gradient_graph(problem, rows)[1])

    def measure() -> int:
        return max(1, saved_bytes(lambda: build(2)) - saved_bytes(lambda: build(1)))

    return problem.memo("curvature: bytes an example", measure)


def saved_bytes(build: Callable[[], object], shared: bool = False) -> int:
    """Bytes of the tensors that autograd saves for the backward pass while `build` runs. shared: of the memory that
    they lie in, each piece once."""
    total, pieces = 0, dict[int, int]()

    def count(tensor: Tensor) -> Tensor:
        nonlocal total
        total += tensor.nbytes
        storage = tensor.untyped_storage()
        pieces[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        graph = build()
    del graph  # until here nothing that was counted is freed
    return sum(pieces.values()) if shared else total
