r"""Sinks for gradients that arrive layer by layer: their random projection, length, and Adam's preconditioning.

The projection of a whole gradient is the sum of the projections of its parts, each with a seed of its own, so that
little more than a layer's gradients is held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import torch
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from torch import Tensor

from engine.basics.values import Count, Value
from engine.estimators.projectors import PROJECTORS, checked_dimension
from engine.models.causal.recipe import adam_spread, adam_update

Sink = Callable[[str, Tensor], None]
"""Called with a parameter's name and its gradients (b, …)."""
TOGETHER = 1 << 18
"""Numbers of a record's gradient that wait for each other to be projected in one go."""
MOST_WIDE = 1 << 15
"""Numbers that a projection grows to at most: wider ones take longer to write than gradients to compute."""


class Projection(Value):
    """Which projection of the adapters' gradients is kept: projector, dimension k and seed.

    budget: bytes that the records' gradients may take on disk; within it they are kept whole where they fit, else
    projected onto k numbers or more, as `width.choose` says, at most as many as fit. With 0 it is k.
    """

    projector: str = "count_sketch"
    dimension: Count = 4096
    seed: Count = 0
    budget: Annotated[Count, Field(ge=0)] = 0

    @model_serializer(mode="wrap")
    def _without_budget(self, serialize: SerializerFunctionWrapHandler) -> dict:
        """A budget is written only where there is one: others keep the digests they had."""
        return {key: value for key, value in serialize(self).items() if key != "budget" or value}

    def fitted(self, parameters: int, rows: int, points: int) -> Projection:
        """The widest projection of gradients with so many parameters, for so many records and checkpoints, without a
        budget.

        A row of each checkpoint holds a gradient and Adam's update, 4 bytes a number, each under two draws if
        projected.
        """
        if not self.budget or self.whole:
            return self.model_copy(update={"budget": 0})
        one = 4 * 2 * max(1, rows) * max(1, points)
        if one * parameters <= self.budget:
            return Projection(projector="identity", seed=self.seed)
        width = self.dimension
        while width < MOST_WIDE and 2 * one * 2 * width <= self.budget:
            width *= 2
        return self.model_copy(update={"dimension": width, "budget": 0})

    @property
    def whole(self) -> bool:
        """Whether gradients are kept as they are."""
        return self.projector == "identity"

    @property
    def draws(self) -> tuple[Projection, ...]:
        """The projection and, where one is drawn, the same with the next seed: by the two is told what a draw does."""
        return (self,) if self.whole else (self, self.model_copy(update={"seed": self.seed + 1}))

    def columns(self, name: str, width: int) -> dict[str, tuple[int, ...]]:
        """The columns of a cache that hold gradients called `name`, one for each draw."""
        return {column: (width,) for column, _ in zip(draw_names(name), self.draws, strict=False)}

    def width(self, sizes: Sequence[int]) -> int:
        """Columns of a projected gradient with parts of these sizes."""
        return sum(sizes) if self.whole else checked_dimension(self.dimension)


def draw_names(name: str) -> tuple[str, str]:
    """What the projections of gradients called `name` are called: the one that scores read, and the other draw."""
    return name, f"{name}_again"


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
        self.waiting = 0

    def __call__(self, name: str, gradients: Tensor) -> None:
        flat = gradients.flatten(1)
        squares = flat.square().sum(1)
        self.squares = squares if self.squares is None else self.squares + squares.to(self.squares.device)
        if self.projection.whole:
            self.parts[name] = flat.cpu()
            return
        if any(part.device != flat.device for part in self.parts.values()):  # a model on several devices
            self._project()
        self.parts[name] = flat
        self.waiting += flat.shape[1]
        if self.waiting >= TOGETHER:
            self._project()

    def _project(self) -> None:
        """Add the projections of the parts that wait for it, and let go of them."""
        seeds = [part_seed(self.projection, self.places[name]) for name in self.parts]
        found = PROJECTORS[self.projection.projector].sum_of(list(self.parts.values()), self.projection.dimension,
                                                             seeds)
        self.total = found if self.total is None else self.total.add_(found.to(self.total.device))
        self.parts, self.waiting = {}, 0

    def projected(self) -> Tensor:
        """(b, k) on the CPU."""
        if self.projection.whole:
            return torch.cat([self.parts[name] for name in self.sizes], 1)
        if self.parts:
            self._project()
        return _received(self.total).cpu()

    def norms(self) -> Tensor:
        """‖∇‖, (b,) on the CPU."""
        return _received(self.squares).sqrt().cpu()


class Draws:
    """The same gradients under every draw of a projection, gathered as `Sum` does."""

    def __init__(self, projection: Projection, sizes: Mapping[str, int]) -> None:
        self.sums = [Sum(one, sizes) for one in projection.draws]

    def __call__(self, name: str, gradients: Tensor) -> None:
        for one in self.sums:
            one(name, gradients)

    def projected(self, name: str) -> dict[str, Tensor]:
        """column -> (b, k) on the CPU, of gradients called `name`."""
        return {column: one.projected() for column, one in zip(draw_names(name), self.sums, strict=False)}

    def norms(self) -> Tensor:
        """‖∇‖, (b,) on the CPU."""
        return self.sums[0].norms()


def _received(total: Tensor | None) -> Tensor:
    if total is None:
        raise ValueError("no gradient was received")
    return total


class Adam:
    """The updates that AdamW would make on single records' gradients, out of a checkpoint's moments and steps."""

    def __init__(self, first: Mapping[str, Tensor], second: Mapping[str, Tensor], step: int) -> None:
        self.first, self.second, self.step = dict(first), dict(second), step

    def __call__(self, name: str, gradients: Tensor) -> Tensor:
        return adam_update(gradients, _there(self.first, name, gradients), _there(self.second, name, gradients),
                           self.step)

    def spread(self, name: str, gradients: Tensor) -> Tensor:
        """√v̂ + ε."""
        return adam_spread(gradients, _there(self.second, name, gradients), self.step)


def _there(moments: dict[str, Tensor], name: str, gradients: Tensor) -> Tensor:
    """A moment where the gradients are, which it is moved to once."""
    if moments[name].device != gradients.device:
        moments[name] = moments[name].to(gradients.device)
    return moments[name]


class Fan:
    """Hands a gradient to several sinks."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self.sinks = sinks

    def __call__(self, name: str, gradients: Tensor) -> None:
        for sink in self.sinks:
            sink(name, gradients)


class Both:
    """Hands a gradient as it is to one sink, and preconditioned to another."""

    def __init__(self, plain: Sink, adam: Adam, conditioned: Sink) -> None:
        self.plain, self.adam, self.conditioned = plain, adam, conditioned

    def __call__(self, name: str, gradients: Tensor) -> None:
        self.plain(name, gradients)
        self.conditioned(name, self.adam(name, gradients))
