r"""The local decomposition of a first-order score: Î = −s_B(q)ᵀ K_T(q, x_k) s_ℓ(z_k) (paper, Eq. 6 and 9).

    s_B = ∂B/∂f at the query,  s_ℓ = ∂ℓ/∂f at the training example,  K_T = J_q R_T J_kᵀ,  J_x = ∂f(x)/∂θ,

all at θ_D. R_T = η·I is the response of one step; an inverse Hessian is that of re-optimisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call

from engine.basics.errors import InvalidInput
from engine.exact.response import signal_of
from engine.question.behaviors import Behavior

Rows = Callable[[Tensor], Tensor]
COLUMNS = 1 << 20
"""Parameters that are converted to float64 at a time."""


@dataclass(frozen=True)
class Decomposition:
    """Three factors of one score, in float64: s_B (C,), K (C, C) from the query's logits to x_k's, s_ℓ (C,)."""

    behavior_signal: Tensor
    kernel: Tensor
    training_signal: Tensor

    @property
    def score(self) -> float:
        """−s_Bᵀ K s_ℓ: what the step is predicted to add to the behavior."""
        return -(self.behavior_signal @ self.kernel @ self.training_signal).item()


def decompose(problem, query: int, candidate: int, behavior: Behavior, *, eta: float = 1.0,
              response: Rows | None = None) -> Decomposition:
    """The factors of the score of query number `query` and training example `candidate`.

    R = η·(response), where `response` maps rows (b, P) of parameters to rows R v, a softmax problem's in the order
    (feature, class) of its Hessian; without it R = η·I.
    Raises `InvalidInput` for an example that is not there and for a behavior without a gradient.
    """
    _check(query, len(problem.queries), "query")
    _check(candidate, problem.n, "training example")
    with problem.exclusive:
        return _decomposed(problem, query, candidate, behavior, eta, response)


def _decomposed(problem, query: int, candidate: int, behavior: Behavior, eta: float,
                response: Rows | None) -> Decomposition:
    label = problem.query_labels[query:query + 1]
    signal = signal_of(behavior, problem.query_logits[query:query + 1], label)[0]
    own = problem.training_signal(torch.tensor([candidate], device=problem.device))[0]
    jacobian = JACOBIANS[problem.kind]
    rows = jacobian(problem, problem.x[candidate])
    kernel = _products(jacobian(problem, problem.queries[query]), rows if response is None else response(rows))
    return Decomposition(signal.double(), eta * kernel, own.double())


def _products(left: Tensor, right: Tensor) -> Tensor:
    """left (C, P) · right (C, P)ᵀ in float64."""
    return sum(a.double() @ b.double().T for a, b in zip(left.split(COLUMNS, 1), right.split(COLUMNS, 1), strict=True))


def _linear_jacobian(problem, x: Tensor) -> Tensor:
    """Of f = Wᵀx, x (D,): row c holds x in the places of W's column c; (C, D·C)."""
    return torch.kron(x, torch.eye(problem.classes, dtype=x.dtype, device=x.device).flatten()).view(
        problem.dimension, problem.classes, problem.classes).permute(1, 0, 2).flatten(1)


def _network_jacobian(problem, x: Tensor) -> Tensor:
    """∂f/∂θ of one input, one reverse pass a class: (C, P)."""
    network = problem.network
    values = {name: value.requires_grad_(True) for name, value in network.unflatten(problem.theta.clone()).items()}
    with torch.enable_grad():
        logits = functional_call(network.module, values, (x[None],))[0]
        rows = [torch.autograd.grad(logit, list(values.values()), retain_graph=True, materialize_grads=True)
                for logit in logits]
    return torch.stack([network.flatten(dict(zip(values, row, strict=True))) for row in rows])


JACOBIANS: dict[str, Callable[..., Tensor]] = {"softmax": _linear_jacobian, "module": _network_jacobian}
"""(problem, x) -> J (C, P) of one input, for each kind of problem."""


def _check(place: int, count: int, noun: str) -> None:
    if not 0 <= place < count:
        raise InvalidInput(f"There is no {noun} {place}; choose one of 0 to {count - 1:,}.")
