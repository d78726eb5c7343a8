r"""Sinks for gradients that arrive layer by layer: their random projection, length, and Adam's preconditioning.

The projection of a whole gradient is the sum of the projections of its parts, each with a seed of its own, so that
little more than a layer's gradients is held.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from pydantic import SerializerFunctionWrapHandler, model_serializer
from torch import Tensor

from engine.applications.language.gradients import Tap, record_gradients
from engine.basics.settings import FREE, GROWS, setting
from engine.basics.values import Count, Value
from engine.gradients.projectors import PROJECTORS, Map, checked_dimension
from engine.models.adam import adam_spread, adam_update
from engine.models.causal.encoding import Batch

GroupSink = Callable[[tuple[str, ...], Tensor], None]
"""Called with the names of parameters and their gradients side by side, (b, Σ)."""
TOGETHER = defaultdict(lambda: 1 << 21, cpu=1 << 18)
"""Kind of device -> numbers of a record's gradient that wait for each other to be projected in one go."""
MOST_WIDE = 1 << 15
"""Numbers that a projection grows to at most: wider ones take longer to write than gradients to compute."""


class Projection(Value):
    """Which projection of the adapters' gradients is kept: projector, dimension k and seed.

    budget: bytes that the records' gradients may take on disk; within it they are kept whole where they fit, else
    projected onto k numbers or more, as `width.choose` says, at most as many as fit. With 0 it is k.
    """

    projector: Literal["count_sketch", "rademacher", "gaussian", "identity"] = setting(
        "count_sketch", "The random projection of gradients; `identity` projects nothing.", "this program", FREE)
    dimension: Count = setting(
        4096, "Minimal dimension of a projected gradient.", "this program", GROWS, ge=1)
    seed: Count = setting(0, "Seed of the projection.", "this program", FREE)
    budget: Count = setting(
        0, "Disk budget in bytes for the records' gradients: within it they are stored unprojected, or with a larger "
           "dimension if scores depend on the projection's seed. With 0 the minimal dimension is used.", "this "
                                                                                                            "program",
        "room on disk", ge=0, le=1 << 44)

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


def parameter_seed(projection: Projection, index: int) -> int:
    """The seed with which the gradients of the parameter at a place are projected."""
    return 1_000_003 * projection.seed + index


class Groups:
    """Gradients that arrive part by part, handed on to sinks several parts at a time; `end` hands on the rest.

    What is handed on lies in memory coordinate after coordinate, the records side by side, as count sketches read it,
    or record after record.
    """

    def __init__(self, *sinks: GroupSink, by_record: bool = False) -> None:
        self.sinks, self.by_record = sinks, by_record
        self.waiting: dict[str, Tensor] = {}
        self.numbers = 0

    def __call__(self, name: str, gradients: Tensor) -> None:
        if self.waiting and next(iter(self.waiting.values())).device != gradients.device:  # a model on several
            self.end()
        flat = self.waiting[name] = gradients.flatten(1)
        self.numbers += flat.shape[1]
        if self.numbers >= TOGETHER[flat.device.type]:
            self.end()

    def end(self) -> None:
        """Hand on what waits."""
        if not self.waiting:
            return
        names, gradients = tuple(self.waiting), list(self.waiting.values())
        joined = torch.cat(gradients, 1) if self.by_record else torch.cat([gradient.T for gradient in gradients]).T
        self.waiting, self.numbers = {}, 0
        for sink in self.sinks:
            sink(names, joined)


def group_gradients(tap: Tap, batch: Batch, readers, sinks: Sequence[Sequence[GroupSink]], *,
                    by_record: bool = False) -> Tensor:
    """As `gradients.record_gradients`, handing groups of gradients to all sinks of each reader."""
    groups = [Groups(*own, by_record=by_record) for own in sinks]
    values = record_gradients(tap, batch, readers, groups)
    for group in groups:
        group.end()
    return values


class Maps:
    """Every draw R of a projection of the gradients of parameters with these sizes. What is drawn is kept as long as
    this object: of a count sketch 8 bytes a number."""

    def __init__(self, projection: Projection, sizes: Mapping[str, int]) -> None:
        self.projection, self.sizes = projection, dict(sizes)
        self.index = {name: index for index, name in enumerate(sizes)}
        self._cached: dict[tuple, list[Map]] = {}

    def of(self, names: tuple[str, ...], device: torch.device) -> list[Map]:
        """Those of a group of parameters, one for each draw."""
        if (names, device) not in self._cached:
            projector, own = PROJECTORS[self.projection.projector], [self.sizes[name] for name in names]
            self._cached[names, device] = [
                projector.draw(own, draw.dimension, [parameter_seed(draw, self.index[name]) for name in names], device)
                for draw in self.projection.draws]
        return self._cached[names, device]


class Draws:
    """Rᵀ∇ of a batch under every draw of a projection, and ‖∇‖; call it with groups of gradients."""

    def __init__(self, maps: Maps, *, lengths: bool = False) -> None:
        """lengths: whether `norms` will be asked for."""
        self.maps, self.lengths = maps, lengths
        self.totals: list[Tensor] = []
        self.squares: Tensor | None = None
        self.whole: dict[str, Tensor] = {}

    def __call__(self, names: tuple[str, ...], joined: Tensor) -> None:
        if self.lengths:
            squares = joined.square().sum(1)
            self.squares = squares if self.squares is None else self.squares + squares.to(self.squares.device)
        if self.maps.projection.whole:
            self.whole |= zip(names, joined.cpu().split([self.maps.sizes[name] for name in names], 1), strict=True)
            return
        projected = [project(joined) for project in self.maps.of(names, joined.device)]
        self.totals = projected if not self.totals else [
            total.add_(own.to(total.device)) for total, own in zip(self.totals, projected, strict=True)]

    def projected(self, name: str) -> dict[str, Tensor]:
        """column -> (b, k) on the CPU, of gradients called `name`."""
        totals = self.totals or [torch.cat([self.whole[parameter] for parameter in self.maps.sizes], 1)]
        return {column: one.cpu() for column, one in zip(draw_names(name), totals, strict=False)}

    def norms(self) -> Tensor:
        """‖∇‖, (b,) on the CPU."""
        if self.squares is None:
            raise ValueError("norms were not requested, or no gradient was received")
        return self.squares.sqrt().cpu()


class Adam:
    """The updates that AdamW would make on single records' gradients, out of a checkpoint's moments and steps."""

    def __init__(self, first: Mapping[str, Tensor], second: Mapping[str, Tensor], step: int) -> None:
        self.first, self.second, self.step = dict(first), dict(second), step
        self._joined: dict[tuple[str, ...], tuple[Tensor, Tensor]] = {}

    def update(self, names: tuple[str, ...], joined: Tensor) -> Tensor:
        """Of a group of gradients (b, …)."""
        first, second = self._moments(names, joined.device)
        return adam_update(joined, first, second, self.step)

    def spread(self, name: str, gradients: Tensor) -> Tensor:
        """√v̂ + ε."""
        _, second = self._moments((name,), gradients.device)
        return adam_spread(gradients, second.view_as(gradients), self.step)

    def _moments(self, names: tuple[str, ...], device: torch.device) -> tuple[Tensor, Tensor]:
        """Those of a group, which are joined where the gradients are, once; each name's are a part of them then."""
        if names not in self._joined:
            self._joined[names] = _joined(self.first, names, device), _joined(self.second, names, device)
        return self._joined[names]


def _joined(kind: dict[str, Tensor], names: tuple[str, ...], device: torch.device) -> Tensor:
    """The values of some names side by side; under each name is its part of them then, so that none is held twice."""
    own = [kind[name] for name in names]
    whole = torch.cat([value.flatten() for value in own]).to(device)
    pieces = whole.split([value.numel() for value in own])
    kind |= {name: piece.view_as(value) for name, piece, value in zip(names, pieces, own, strict=True)}
    return whole


class Conditioned:
    """Hands groups of gradients on to sinks as the updates that Adam would make on them."""

    def __init__(self, adam: Adam, *sinks: GroupSink) -> None:
        self.adam, self.sinks = adam, sinks

    def __call__(self, names: tuple[str, ...], joined: Tensor) -> None:
        updates = self.adam.update(names, joined)
        for sink in self.sinks:
            sink(names, updates)


def projected_rows(tap: Tap, batch: Batch, readers: Mapping[str, Callable], maps: Sequence[Maps],
                   adam: Adam | None = None) -> tuple[Tensor, list[dict[str, Tensor]]]:
    """The values (b, len(readers)) that readers read, and for each of the maps column -> (b, k), their gradients.

    adam: of a single reader, the updates of projected gradients too, in columns called `conditioned` (those of whole
    ones follow from them), and the gradient's length as `norm`.
    """
    draws = [{name: Draws(one, lengths=adam is not None) for name in readers} for one in maps]
    updates = [None if one.projection.whole else Draws(one) for one in maps] if adam else []
    sinks: list[list[GroupSink]] = [[own[name] for own in draws] for name in readers]
    if adam:
        sinks[0] += [Conditioned(adam, *wanted)] if (wanted := list(filter(None, updates))) else []
    values = group_gradients(tap, batch, list(readers.values()), sinks,
                             by_record=all(one.projection.whole for one in maps))
    rows = [{column: own for name, sink in one.items() for column, own in sink.projected(name).items()}
            for one in draws]
    for one, own, update in zip(rows, draws, updates, strict=False):
        one |= {**(update.projected("conditioned") if update else {}), "norm": next(iter(own.values())).norms()}
    return values, rows
