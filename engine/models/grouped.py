"""One step of an optimizer whose groups of parameters have rules, or rates, of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.models.rules import Rule, State, cut


@dataclass(frozen=True, eq=False)
class Part:
    """A rule for the entries `index` (p,) of θ, at the rate of a group of parameters: 0 for the first."""

    rule: Rule
    index: Tensor
    group: int


class Grouped(Rule):
    """The rules of all parts on a gradient that is first cut, as a whole, to the length `clip`; a step takes a tuple of
    rates, one a group. Every entry of θ belongs to one part."""

    def __init__(self, parts: Sequence[Part], clip: float = math.inf) -> None:
        self.parts, self.clip = tuple(parts), clip
        self.back_in_order = torch.cat([part.index for part in parts]).argsort()

    @property
    def remembers(self) -> int:
        return max(part.rule.remembers for part in self.parts)

    @property
    def linear(self) -> bool:
        return math.isinf(self.clip) and all(part.rule.linear for part in self.parts)

    @property
    def penalty(self) -> Tensor:
        """Of every entry of θ, (P,)."""
        return self._whole([torch.full_like(part.index, float(part.rule.penalty), dtype=torch.float64)
                            for part in self.parts])

    def rate_of(self, rates: tuple[float, ...]) -> tuple[float, ...]:
        return rates

    def step(self, theta: Tensor, state: State, gradient: Tensor, rate: tuple[float, ...],  # type: ignore[override]
             count: int | Tensor) -> tuple[Tensor, State]:
        if self.clip < math.inf:
            gradient = gradient * cut(gradient, self.clip)
        moved, states = [], []
        for part in self.parts:
            own = tuple(one[part.index] for one in state[:part.rule.remembers])
            ended, after = part.rule.step(theta[part.index], own, gradient[part.index], rate[part.group], count)
            moved.append(ended)
            states.append((*after, *(torch.zeros_like(ended) for _ in range(self.remembers - len(after)))))
        return self._whole(moved), tuple(self._whole(own) for own in zip(*states, strict=True))

    def affine(self, theta: Tensor, state: State, rate: float) -> tuple[float, Tensor]:
        raise InvalidInput("The joint second-order effect of a batch's examples needs one update rule for all "
                           "parameters and no clipping, and this run has several rules or clips gradients; use "
                           "`tracin_run`, its first order.")

    def _whole(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(parts))[self.back_in_order]
