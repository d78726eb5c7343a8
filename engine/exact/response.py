"""What an intervention under a process does to the query logits, before any behavior is read off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.question.behaviors import Behavior


class Summand(Protocol):
    """What a response adds up: any behavior can be read off it."""

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b), for the queries' labels (m,)."""


@dataclass(frozen=True)
class Part:
    """One comparison of query logits.

    Finite: `logits` (m, b, C) are the counterfactual ones, compared with `baseline` (m, C).
    Linear: `logits` (m, b, C) are their first-order change at `baseline`.
    """

    logits: Tensor
    baseline: Tensor
    linear: bool = False

    @property
    def count(self) -> int:
        """b, the number of candidates."""
        return self.logits.shape[1]

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b): B(counterfactual) − B(baseline), or s_Bᵀ δf where linear."""
        if not self.linear:
            expanded = labels[:, None].expand(self.logits.shape[:2])
            return behavior.value(self.logits, expanded) - behavior.value(self.baseline, labels)[:, None]
        return torch.einsum("mbc,mc->mb", self.logits, signal_of(behavior, self.baseline, labels))


@dataclass(frozen=True)
class GradientPart:
    """A first-order change of the behavior along one parameter direction v_k a candidate.

    baseline (m, C): the query logits at which the behavior is differentiated. products: s_B (m, C) ->
    (m, b), the inner products ⟨J_qᵀ s_B(q), v_k⟩; no behavior is known before it is called, so that all
    behaviors share the v_k. count: b.
    """

    baseline: Tensor
    products: Callable[[Tensor], Tensor]
    count: int

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b): ∇_θ B(q)ᵀ v_k."""
        return self.products(signal_of(behavior, self.baseline, labels))


def signal_of(behavior: Behavior, logits: Tensor, labels: Tensor) -> Tensor:
    """s_B (m, C). Raises `InvalidInput` for a behavior without a gradient."""
    if behavior.signal is None:
        raise InvalidInput(
            f"The behavior `{behavior.name}` has no gradient, so no first-order or inverse-Hessian estimator can "
            "score it; use the estimator `exact` with a finite process."
        )
    return behavior.signal(logits, labels)


@dataclass(frozen=True)
class Response:
    """The parts to be added up, and for each candidate whether its solve converged, with its residual.

    residual (b,): the final gradient norm of a re-optimisation, or the relative residual of a linear
    solve; 0 for closed forms. work: what was counted on the way (passes, rounds, iterations).
    """

    parts: tuple[Summand, ...]
    converged: Tensor
    residual: Tensor
    work: dict[str, float] = field(default_factory=dict)

    @classmethod
    def closed_form(cls, *parts: Part | GradientPart) -> Response:
        b, device = parts[0].count, parts[0].baseline.device
        return cls(parts, torch.ones(b, dtype=torch.bool, device=device), torch.zeros(b, device=device).double())

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        return total(part.scores(behavior, labels) for part in self.parts)


def total(parts: Iterable[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    return sum(parts, start=torch.zeros(()))
