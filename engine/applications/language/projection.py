r"""Sinks for gradients that arrive layer by layer: their random projection, length, and Adam's preconditioning.

The projection of a whole gradient is the sum of the projections of its parts, each with a seed of its own, so that
nothing larger than a layer's gradients is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from engine.applications.language.finetune import BETAS, EPSILON
from engine.basics.values import Count, Value
from engine.estimators.projectors import PROJECTORS, checked_dimension


class Projection(Value):
    """Which projection of the adapters' gradients is kept: projector, dimension k and seed."""

    projector: str = "count_sketch"
    dimension: Count = 4096
    seed: Count = 0

    def width(self, sizes: Sequence[int]) -> int:
        """Columns of a projected gradient with parts of these sizes."""
        return sum(sizes) if self.projector == "identity" else checked_dimension(self.dimension)


def part_seed(projection: Projection, place: int) -> int:
    """The seed with which the gradients of the parameter at a place are projected."""
    return 1_000_003 * projection.seed + place


class Sum:
    """R ᵀ∇ and ‖∇‖² of a batch, gathered part by part; call it with a parameter's name and gradients (b, …)."""

    def __init__(self, projection: Projection, sizes: Mapping[str, int]) -> None:
        self.projection, self.sizes = projection, dict(sizes)
        self.places = {name: place for place, name in enumerate(sizes)}
        self.total: Tensor | None = None
        self.squares: Tensor | None = None
        self.parts: dict[str, Tensor] = {}

    def __call__(self, name: str, gradients: Tensor) -> None:
        flat = gradients.flatten(1)
        squares = flat.square().sum(1)
        self.squares = squares if self.squares is None else self.squares + squares.to(self.squares.device)
        if self.projection.projector == "identity":
            self.parts[name] = flat.cpu()
            return
        seed = part_seed(self.projection, self.places[name])
        part = PROJECTORS[self.projection.projector].project(flat, self.projection.dimension, seed)
        self.total = part if self.total is None else self.total.add_(part.to(self.total.device))

    def projected(self) -> Tensor:
        """(b, k) on the CPU."""
        if self.projection.projector == "identity":
            return torch.cat([self.parts[name] for name in self.sizes], 1)
        return _received(self.total).cpu()

    def norms(self) -> Tensor:
        """‖∇‖, (b,) on the CPU."""
        return _received(self.squares).sqrt().cpu()


def _received(total: Tensor | None) -> Tensor:
    if total is None:
        raise ValueError("no gradient was received")
    return total


class Adam:
    r"""Γ(z) = m̂/(√v̂ + ε), the update that AdamW would make on one record's gradient (Xia et al. 2024), passed on.

    m̂ = (β₁ m + (1 − β₁) ∇)/(1 − β₁ᵗ) and v̂ = (β₂ v + (1 − β₂) ∇²)/(1 − β₂ᵗ), with the moments of a checkpoint after
    t − 1 steps.
    """

    def __init__(self, first: Mapping[str, Tensor], second: Mapping[str, Tensor], step: int) -> None:
        self.first, self.second, self.step = first, second, step + 1

    def __call__(self, name: str, gradients: Tensor) -> Tensor:
        one, device = BETAS[0], gradients.device
        m = gradients.mul(1 - one).add_(self.first[name].to(device), alpha=one).div_(1 - one**self.step)
        return m.div_(self.spread(name, gradients))

    def spread(self, name: str, gradients: Tensor) -> Tensor:
        """√v̂ + ε."""
        two = BETAS[1]
        second = self.second[name].to(gradients.device)
        v = gradients.square().mul_(1 - two).add_(second, alpha=two).div_(1 - two**self.step)
        return v.sqrt_().add_(EPSILON)


class Both:
    """Hands a gradient as it is to one sink, and preconditioned to another."""

    def __init__(self, plain: Sum, adam: Adam, conditioned: Sum) -> None:
        self.plain, self.adam, self.conditioned = plain, adam, conditioned

    def __call__(self, name: str, gradients: Tensor) -> None:
        self.plain(name, gradients)
        self.conditioned(name, self.adam(name, gradients))
