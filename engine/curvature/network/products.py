r"""Products of the training objective's curvature with many vectors, without the matrix.

    Hessian        ∇²L_D(θ_D) = (1/n) Σ_i ∇²ℓ(z_i; θ_D) + λI
    Gauss–Newton   (1/n) Σ_i J_iᵀ H_i J_i + λI,   J_i = ∂f(x_i)/∂θ (C, P),   H_i = ∂²ℓ/∂f² (C, C)

The two agree where the logits are linear in θ or where every ∂ℓ/∂f is zero. The graph of the gradient is built
once for a chunk of examples and pulled back for one right-hand side after another (Pearlmutter 1994, in reverse
mode twice); the Gauss–Newton product takes J v as the derivative of Jᵀu in u (double backward), then H_i, then Jᵀ.
On a CPU that takes half the time of `jvp` over `grad` under `vmap` for 16 right-hand sides, it asks for no
forward-mode rule of the user's operations, and it is right for LayerNorm, whose second derivatives `torch.func`
gets wrong (pytorch issue 196700).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.func import functional_call

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.network.second_order import explained, refuse_once_differentiable, twice_differentiable
from engine.gradients.chunks import is_out_of_memory

Product = Callable[[Tensor], Tensor]

COLUMNS = 32
"""At most so many right-hand sides share one graph; it costs as much as one of them."""
GRAPH_BYTES = {"cpu": 64 << 20, "cuda": 1 << 30}
"""A chunk of examples holds graphs of this size: on a CPU more only leaves the cache."""
BATCH_BYTES = {"cpu": 16 << 20, "cuda": 512 << 20}
"""Right-hand sides are batched by vmap while their tangents fit in this: below it calls cost more than arithmetic."""


def hessian_product(problem, vectors: Tensor, damping: float = 0.0, rows: Tensor | None = None,
                    gauss_newton: bool = False, options: Options | None = None) -> Tensor:
    """(∇²L_D(θ_D) + damping·I)V for V (P, r) -> (P, r), λI of the regulariser included.

    rows (b,): a mini-batch, whose mean stands for the training set's; all n examples where it is left out. About
    four to five gradients' work an example and right-hand side, twice that for the first; memory: options.budget
    bytes besides the result. Raises `InvalidInput` for a model with an operation that cannot be differentiated
    twice, or where one example's graph does not fit in memory; a warning says where chunks were made smaller.
    """
    return Curvature(problem, rows, gauss_newton, options)(vectors, damping)


class Curvature:
    """V (P, r), damping -> the product of `hessian_product`, for many calls.

    The graphs of all examples are kept between calls where they fit in a quarter of options.budget.
    """

    def __init__(self, problem, rows: Tensor | None = None, gauss_newton: bool = False,
                 options: Options | None = None) -> None:
        self.problem = problem
        self.rows = torch.arange(problem.n, device=problem.device) if rows is None else rows
        self.build = gauss_newton_map if gauss_newton else hessian_map
        self.options = Options() if options is None else options
        self.chunk, self.keeps, self.kept = 0, True, {}

    def __call__(self, vectors: Tensor, damping: float = 0.0) -> Tensor:
        while True:
            try:
                self.chunk = self.chunk or self._plan()
                return self._product(vectors, damping)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    if refusal := explained(error):
                        raise refusal from None
                    raise
                if self.chunk < 2:
                    raise InvalidInput("The curvature of one example does not fit in memory; select fewer "
                                       "parameters, such as `last_block`.") from None
            self.keeps, self.kept, self.chunk = False, {}, self.chunk // 2
            warnings.warn(f"Out of memory: curvature products go on with {self.chunk} examples at once.",
                          RuntimeWarning, stacklevel=2)

    def _plan(self) -> int:
        """Examples at once: their graph, and as much again while it is pulled back, fit in a quarter of the budget."""
        each = graph_bytes(self.problem)
        self.keeps = len(self.rows) * each <= self.options.budget // 4
        room = min(self.options.budget // 8, GRAPH_BYTES[self.problem.device.type])
        return max(1, min(len(self.rows), room // each))

    def _product(self, vectors: Tensor, damping: float) -> Tensor:
        out, width = torch.empty_like(vectors), self._columns_at_once()
        step = max(1, min(COLUMNS, self.options.budget // 16 // (len(vectors) * vectors.element_size())))
        for start in range(0, vectors.shape[1], step):
            block = vectors[:, start:start + step].T.contiguous()
            total = torch.zeros_like(block)
            for index, rows in enumerate(self.rows.split(self.chunk)):
                product = self.kept.get(index) or self.build(self.problem, rows)
                if self.keeps:
                    self.kept[index] = product
                for k in range(0, len(block), width):
                    self.options.check()
                    total[k:k + width] += product(block[k:k + width])
            out[:, start:start + step] = total.T / len(self.rows)
        return out.add_(vectors, alpha=self.problem.l2 + damping)

    def _columns_at_once(self) -> int:
        room = min(self.options.budget // 8, BATCH_BYTES[self.problem.device.type])
        return max(1, min(COLUMNS, room // (self.chunk * graph_bytes(self.problem))))


def column_blocks(problem, count: int, matrices: int, options: Options) -> Iterator[slice]:
    """Slices of `count` columns, so narrow that `matrices` matrices (P, width) fit in half of the budget."""
    each = matrices * problem.parameters * problem.theta.element_size()
    width = max(1, options.budget // 2 // each)
    for start in range(0, count, width):
        yield slice(start, min(start + width, count))


def hessian_map(problem, rows: Tensor) -> Product:
    """V (r, P) -> Σ_i ∇²ℓ(z_i) V (r, P) over `rows`, on a graph that is kept."""
    leaves, gradients = _gradient_graph(problem, rows)
    network = problem.network

    def product(block: Tensor) -> Tensor:
        return _flat(_pulled_back(gradients, leaves, list(network.unflatten(block).values())))

    return product


def _gradient_graph(problem, rows: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """θ_D as leaves, and Σ_i ∇ℓ(z_i) over `rows` as a graph on them."""
    leaves = _leaves(problem)
    with twice_differentiable():
        loss = problem.loss(_logits(problem, leaves, rows), problem.y[rows]).sum()
        gradients = torch.autograd.grad(loss, leaves, create_graph=True, materialize_grads=True)
        # a gradient that does not depend on θ has no graph of its own
        return leaves, [g + 0 * leaf for g, leaf in zip(gradients, leaves, strict=True)]


def gauss_newton_map(problem, rows: Tensor) -> Product:
    """V (r, P) -> Σ_i J_iᵀ H_i J_i V (r, P) over `rows`, on graphs that are kept."""
    leaves = _leaves(problem)
    with twice_differentiable():
        logits = _logits(problem, leaves, rows)
        probe = torch.zeros_like(logits, requires_grad=True)
        pulled = torch.autograd.grad(logits, leaves, probe, create_graph=True, materialize_grads=True)
        pulled = [p + 0 * probe.sum() for p in pulled]
    curve = loss_curvature(problem, logits.detach(), problem.y[rows])
    network = problem.network

    def product(block: Tensor) -> Tensor:
        change, = _pulled_back(pulled, [probe], list(network.unflatten(block).values()))
        return _flat(_pulled_back([logits], leaves, [curve(change)]))

    return product


def loss_curvature(problem, logits: Tensor, labels: Tensor) -> Product:
    """U (r, b, C) -> H_i u_i, each (r, b, C): the loss's own Hessian at logits (b, C) and labels (b,)."""
    leaf = logits.detach().requires_grad_(True)
    with twice_differentiable():
        signal, = torch.autograd.grad(problem.loss(leaf, labels).sum(), leaf, create_graph=True)
        signal = signal + 0 * leaf
    return lambda block: _pulled_back([signal], [leaf], [block])[0]


def _pulled_back(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor]) -> tuple[Tensor, ...]:
    """The vector–Jacobian products of every leading index r of the cotangents; the graph is kept."""
    if len(cotangents[0]) > 1:
        try:
            return _gradients(outputs, inputs, cotangents, batched=True)
        except RuntimeError:  # an operation that vmap does not know, or too little memory for all at once
            pass
    each = [_gradients(outputs, inputs, [c[k] for c in cotangents], batched=False)
            for k in range(len(cotangents[0]))]
    return tuple(torch.stack(parts) for parts in zip(*each, strict=True))


def _gradients(outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor], batched: bool) -> tuple:
    return torch.autograd.grad(outputs, inputs, cotangents, retain_graph=True, materialize_grads=True,
                               is_grads_batched=batched)


def _leaves(problem) -> list[Tensor]:
    """θ_D as one leaf a selected parameter, in the network's order."""
    return [value.detach().clone().requires_grad_(True)
            for value in problem.network.unflatten(problem.theta).values()]


def _logits(problem, leaves: list[Tensor], rows: Tensor) -> Tensor:
    parameters = dict(zip(problem.network.names, leaves, strict=True))
    return functional_call(problem.network.module, parameters, (problem.x[rows],))


def _flat(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([part.flatten(1) for part in parts], 1)


def graph_bytes(problem) -> int:
    """What the graph of ∇ℓ keeps for one example, in bytes: measured on two examples less one."""
    def measure() -> int:
        two, one = (_saved_bytes(problem, torch.zeros(k, dtype=torch.long, device=problem.device)) for k in (2, 1))
        return max(1, two - one)

    return problem.memo("curvature: bytes an example", measure)


def _saved_bytes(problem, rows: Tensor) -> int:
    total = 0

    def count(tensor: Tensor) -> Tensor:
        nonlocal total
        total += tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        refuse_once_differentiable(_gradient_graph(problem, rows)[1])
    return total
