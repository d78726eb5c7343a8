r"""The local decomposition of a first-order score: Î = −s_B(q)ᵀ K_T(q, x_k) s_ℓ(z_k) (paper, Eq. 6 and 9).

    s_B = ∂B/∂f at the query,  s_ℓ = ∂ℓ/∂f at the training example,  K_T = J_q R_T J_kᵀ,  J_x = ∂f(x)/∂θ,

all at θ_D. R_T = η·I is the response of one step; an inverse Hessian is that of re-optimisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.gradients.response import signal_of
from engine.problems import Problem
from engine.question.behavior import Behavior

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


def decompose(problem: Problem, query: int, candidate: int, behavior: Behavior, *, eta: float = 1.0,
              response: Rows | None = None) -> Decomposition:
    """The factors of the score of query number `query` and training example `candidate`.

    R = η·(response), where `response` maps rows (b, P) of parameters to rows R v, a softmax problem's in the order
    (feature, class) of its Hessian; without it R = η·I.
    Raises `InvalidInput` for an example that is not there and for a behavior without a gradient.
    """
    _check(query, len(problem.queries), "query")
    _check(candidate, problem.n, "training example")
    with problem.exclusive:
        extended, (read,) = problem.asking([behavior])
        return _decomposed(extended, query, candidate, read, eta, response)


def _decomposed(problem: Problem, query: int, candidate: int, behavior: Behavior, eta: float,
                response: Rows | None) -> Decomposition:
    label = problem.query_labels[query:query + 1]
    signal = signal_of(behavior, problem.query_logits[query:query + 1], label)[0]
    own = problem.training_signal(torch.tensor([candidate], device=problem.device))[0]
    rows = problem.jacobian(problem.x[candidate])
    kernel = _products(problem.jacobian(problem.queries[query]), rows if response is None else response(rows))
    return Decomposition(signal.double(), eta * kernel, own.double())


def _products(left: Tensor, right: Tensor) -> Tensor:
    """left (C, P) · right (C, P)ᵀ in float64."""
    return sum(a.double() @ b.double().T for a, b in zip(left.split(COLUMNS, 1), right.split(COLUMNS, 1), strict=True))


def _check(index: int, count: int, noun: str) -> None:
    if not 0 <= index < count:
        raise InvalidInput(f"There is no {noun} {index}; choose one of 0 to {count - 1:,}.")
