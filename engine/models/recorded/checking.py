"""Whether a recorded training can be made again bit for bit, and if not, from which step on and why.

From every checkpoint the steps to the next are made again with the recorded weights and optimizer state, and the bits
of the weights are compared after each: one training in all. Where a stretch differs, how far it leads astray tells
rounding from another step, and the whole run is made again from its start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.basics.provenance import versions_of
from engine.models.pauses import OPTIMIZER, Keeper, State, load_optimizer, optimizer_state
from engine.models.recorded.bits import trace
from engine.models.recorded.folder import Recording
from engine.models.recorded.recipe import RecordedRecipe
from engine.models.training import Diverged, Training, replay

ROUNDING = 1e-3
"""A stretch that ends within this share of its own way of the recorded one differs by rounding."""


@dataclass(frozen=True)
class Checked:
    """step: the first one that differs; None where none does. stretches: how many lie between checkpoints, and
    `alike`, how many of them were made again bit for bit. off: how far the first other one ends from the recorded
    one, as a share of its way; end: the same of the whole run. causes: as far as they can be known."""

    step: int | None
    steps: int
    stretches: int = 0
    alike: int = 0
    off: float = 0.0
    end: float = 0.0
    causes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        return self.step is None

    @property
    def sentence(self) -> str:
        """What was found."""
        if self.exact:
            return (f"This recording replays bit for bit: all {self.steps:,} steps, made again from the data given, "
                    "lead to the recorded weights and states.")
        if not self.stretches:
            return " ".join(self.causes)
        return " ".join([
            f"This recording does not replay bit for bit from step {self.step:,} of {self.steps:,} on.",
            f"{self.alike} of {self.stretches} stretches between checkpoints do; the first other one ends "
            f"{self.off:.1e} of its way from the recorded one, the whole run {self.end:.1e}.", *self.causes])


def check(training: Training, look: Callable[[], None] = lambda: None,
          progress: Callable[[float], None] = lambda share: None) -> Checked:
    """Of a training by a `RecordedRecipe`. look: called before every step; raises to cancel. Raises `TypeError` for
    another recipe."""
    recipe = training.recipe
    if not isinstance(recipe, RecordedRecipe):
        raise TypeError("only a recorded training can be checked")
    run = recipe.run
    if recipe.fault:
        return Checked(recipe.faulty_step, recipe.steps, causes=(recipe.fault,))
    points = run.facts.checkpoints
    found: list[_Stretch] = []
    for place, (start, end) in enumerate(zip(points, points[1:], strict=False)):
        found.append(_made(training, run, start, end, look))
        progress((place + 1) / len(points))
    other = [stretch for stretch in found if stretch.first is not None]
    if not other:
        return Checked(None, recipe.steps, len(found), len(found))
    whole = _made(training, run, 0, points[-1], look)
    progress(1.0)
    off = other[0].off
    return Checked(other[0].first, recipe.steps, len(found), len(found) - len(other), off, whole.off,
                   tuple(_causes(run, training, off, len(other) < len(found))))


class _Enough(Exception):
    """The stretch is behind."""


@dataclass
class _Stretch(Keeper):
    """The steps from one checkpoint to another, compared with the recorded ones."""

    run: Recording
    start: int
    end: int
    module: nn.Module
    optimizer: torch.optim.Optimizer
    first: int | None = None
    off: float = 0.0

    def __post_init__(self) -> None:
        self.moving = {name: parameter for name, parameter in self.module.named_parameters() if parameter.requires_grad}
        self.step = self.start
        self.hook = self.optimizer.register_step_post_hook(self._compare)

    def resume(self, losses: list[float], kept: list[tuple[State, float]], rates: Sequence[float],
               per_epoch: int) -> int:
        self.module.load_state_dict(self.run.state(self.start), strict=False)
        load_optimizer(self.run.state(self.start, OPTIMIZER), self.module, self.optimizer)
        return self.start

    def _compare(self, *_: object) -> None:
        if self.first is None and trace(self.moving.values()).cpu() != self.run.batches.traces[self.step]:
            self.first = self.step + 1
        self.step += 1
        if self.step == self.end:
            self._arrived()
            raise _Enough

    def _arrived(self) -> None:
        before, after = self.run.state(self.start), self.run.state(self.end)
        here = self.module.state_dict()
        states = optimizer_state(self.moving, self.optimizer)
        kept = self.run.state(self.end, OPTIMIZER)
        alike = all(torch.equal(here[name].cpu(), value) for name, value in after.items()) and all(
            torch.equal(states[OPTIMIZER + name].cpu(), value) for name, value in kept.items())
        if self.first is None and not alike:
            self.first = self.end
        way = _length(after[name] - before[name] for name in self.moving)
        self.off = _length(after[name] - here[name].cpu() for name in self.moving) / max(way, 1e-300)


def _length(parts: Iterable[Tensor]) -> float:
    return float(sum(part.double().square().sum() for part in parts)) ** 0.5


def _made(training: Training, run: Recording, start: int, end: int, look: Callable[[], None]) -> _Stretch:
    kept: list[_Stretch] = []

    def keeping(module: nn.Module, optimizer: torch.optim.Optimizer) -> Keeper:
        kept.append(_Stretch(run, start, end, module, optimizer))
        return kept[0]

    try:
        replay(training, check=look, keeping=keeping)
    except _Enough:
        pass
    except Diverged:
        kept[0].first, kept[0].off = kept[0].first or kept[0].step, float("inf")
    return kept[0]


def _causes(run: Recording, training: Training, off: float, some: bool) -> list[str]:
    facts, here = run.facts, versions_of(*run.facts.versions)
    found = [f"It was recorded with {name} {version}, and this is {here[name]}."
             for name, version in facts.versions.items() if here[name] != version]
    if facts.device.split(":")[0] != training.device.type:
        found.append(f"It was recorded on `{facts.device}`, and this is `{training.device.type}`.")
    if facts.threads != torch.get_num_threads():
        found.append(f"It was recorded with {facts.threads} threads and made again with {torch.get_num_threads()}, "
                     "which add in another order.")
    if off < ROUNDING:
        return [*found, "The difference is of the size of rounding: kernels that add in varying order, batches that "
                        "lie otherwise in memory, or a loss that sums in another order would do that."]
    if some:
        return [*found, "As other stretches replay, something happened there alone: weights that were changed outside "
                        "of the optimizer, or a batch that was not the recorded one."]
    return [*found, "The steps were others than those of the recorded optimizer on the mean cross-entropy of the "
                    "recorded batches: another loss or penalty, gradients that were clipped or altered (give the "
                    "recorder its `clip`), or randomness that is not drawn from torch's generator would do that."]
