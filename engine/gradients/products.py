r"""Inner products of query and training gradients, ⟨J_qᵀ s_q, ∇ℓ_k⟩, for all pairs (paper, Eq. 6 without −η).

Training gradients are computed once, layer by layer in their cheapest form, and serve every behavior:

    training = TrainingGradients(problem, rows)
    training.products(problem.queries, signal)     (m, b), at each behavior's signal s_B = ∂B/∂f
    training.norms()                               (b,)
    training.along(directions)                     (r, b)

All are without the regulariser.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from engine.gradients import forms
from engine.gradients.chunks import BUDGET, activation_bytes, allocated, fitting, in_chunks, unchecked
from engine.gradients.factors import gradient_forms, pass_bytes
from engine.gradients.layout import arranged
from engine.gradients.model import Differentiable
from engine.gradients.vectorised import along_signal
from engine.models.losses import differentiable
from engine.models.network import Network


class TrainingGradients:
    """∇ℓ(z_k; θ) of the training examples `rows` (b,), held as factors or written out.

    theta (P,): θ_D where it is left out; the queries are differentiated there too. budget: bytes of working memory;
    what is held comes beside it. check: called often; raises to cancel.
    """

    def __init__(self, problem: Differentiable, rows: Tensor, theta: Tensor | None = None, budget: int = BUDGET, *,
                 check: Callable[[], None] = unchecked) -> None:
        self.network, self.theta, self.budget, self.check = problem.network, theta, budget, check
        self.rows = rows
        self._chunks: list[tuple[slice, list[forms.Form]]] = []

        def run(chunk: slice) -> None:
            self._chunks.append((chunk, gradient_forms(self.network, *problem.units(rows[chunk]),
                                                       differentiable(problem.loss), theta)))

        in_chunks(run, len(rows), fitting(pass_bytes(self.network, problem.x), budget, problem.device), check)

    def __len__(self) -> int:
        return len(self.rows)

    def products(self, queries: Tensor, signal: Tensor) -> Tensor:
        """⟨J_qᵀ s_q, ∇ℓ_k⟩ for queries (m, …) and signals (m, C): shape (m, b). No training gradient is recomputed."""
        out = allocated("products", len(queries), len(self), like=self.network.theta)

        def use(chunk: slice, own: list[forms.Form]) -> None:
            for columns, training in self._chunks:
                out[chunk, columns] = forms.inner_products(own, training)

        _each_query_chunk(self.network, queries, signal, self.theta, self.budget, self.check, use)
        return out

    def norms(self) -> Tensor:
        """‖∇ℓ_k‖, shape (b,)."""
        return torch.cat([forms.squared_norms(training) for _, training in self._chunks]).sqrt()

    def along(self, directions: Tensor) -> Tensor:
        """∇ℓ_kᵀ v for directions (r, P): shape (r, b)."""
        directions = directions.to(self.network.theta)
        return torch.cat([forms.along(training, directions).T for _, training in self._chunks], 1)


def products_with(problem: Differentiable, queries: Tensor, signal: Tensor, directions: Tensor,
                  theta: Tensor | None = None, budget: int = BUDGET, *,
                  check: Callable[[], None] = unchecked) -> Tensor:
    """⟨J_qᵀ s_q, v_k⟩ for queries (m, …), signals (m, C) and any directions (b, P): shape (m, b)."""
    out = allocated("products", len(queries), len(directions), like=problem.network.theta)
    directions = directions.to(out)

    def use(chunk: slice, own: list[forms.Form]) -> None:
        out[chunk] = forms.along(own, directions)

    _each_query_chunk(problem.network, queries, signal, theta, budget, check, use)
    return out


def query_norms(problem: Differentiable, queries: Tensor, signal: Tensor, theta: Tensor | None = None) -> Tensor:
    """‖J_qᵀ s_q‖ for queries (m, …) and signals (m, C): shape (m,)."""
    out = problem.network.theta.new_empty(len(queries))

    def use(chunk: slice, own: list[forms.Form]) -> None:
        out[chunk] = forms.squared_norms(own).sqrt()

    _each_query_chunk(problem.network, queries, signal, theta, BUDGET, unchecked, use)
    return out


def summed_slopes(problem: Differentiable, queries: Tensor, signals: Callable[[Tensor, slice], Sequence[Tensor]],
                  count: int, budget: int = BUDGET, *, check: Callable[[], None] = unchecked) -> Tensor:
    """Σ_q J_qᵀ s_q at θ_D for `count` signals a query, (count, P): `loss_derivatives` along them score every example.

    signals: logits (b, C) of some queries, and which these are -> `count` signals (b, C). A batch is passed forward
    once, and back once a signal.
    """
    network = problem.network
    x, total = arranged(network, queries), network.theta.new_zeros(count, network.size)
    leaves = {name: value.detach().requires_grad_() for name, value in network.unflatten(network.theta).items()}

    def run(chunk: slice) -> None:
        with torch.enable_grad():
            logits = network.at(x[chunk], leaves)
        for row, signal in zip(total, signals(logits.detach(), chunk), strict=True):
            slopes = torch.autograd.grad(logits, list(leaves.values()), signal, retain_graph=True,
                                         materialize_grads=True)
            row.add_(network.flatten(dict(zip(leaves, slopes, strict=True))))

    in_chunks(run, len(x), fitting(4 * activation_bytes(network, x), budget, problem.device), check)
    return total


def _each_query_chunk(network: Network, queries: Tensor, signal: Tensor, theta: Tensor | None, budget: int,
                      check: Callable[[], None], use: Callable[[slice, list[forms.Form]], None]) -> None:
    signal = signal.to(network.dtype)

    def run(chunk: slice) -> None:
        use(chunk, gradient_forms(network, queries[chunk], signal[chunk], along_signal, theta))

    in_chunks(run, len(queries), fitting(pass_bytes(network, queries), budget, network.device), check)
