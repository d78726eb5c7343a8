"""The steps of a recorded training from one checkpoint to another, replayed under the conditions of the recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from engine.models.pauses import OPTIMIZER, Keeper, State, load_optimizer, optimizer_state
from engine.models.recorded.bits import trace
from engine.models.recorded.folder import Recording
from engine.models.training import Diverged, Training, replay

ROUNDING = 1e-3
"""A stretch that ends within this fraction of its own length of the recorded one differs by rounding."""


def stretches(training: Training, run: Recording, look: Callable[[], None], progress: Callable[[float], None]
              ) -> list[Stretch]:
    """From every checkpoint to the next."""
    points, replayed = run.facts.checkpoints, []
    for index, (start, end) in enumerate(zip(points, points[1:], strict=False)):
        replayed.append(stretch(training, run, start, end, look))
        progress((index + 1) / len(points))
    return replayed


class _Enough(Exception):
    """The stretch is behind."""


@dataclass
class Stretch(Keeper):
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

    def resume(self, losses: list[float], checkpoints: list[tuple[State, float]], rates: Sequence[float],
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
        recorded = self.run.state(self.end, OPTIMIZER)
        alike = all(torch.equal(here[name].cpu(), value) for name, value in after.items()) and all(
            torch.equal(states[OPTIMIZER + name].cpu(), value) for name, value in recorded.items())
        if self.first is None and not alike:
            self.first = self.end
        length = _length(after[name] - before[name] for name in self.moving)
        self.off = _length(after[name] - here[name].cpu() for name in self.moving) / max(length, 1e-300)


def _length(parts: Iterable[Tensor]) -> float:
    return float(sum(part.double().square().sum() for part in parts)) ** 0.5


def stretch(training: Training, run: Recording, start: int, end: int, look: Callable[[], None]) -> Stretch:
    """In the precision of the recording."""
    x, stretches_of = training.x, list[Stretch]()
    training = replace(training, x=x.to(run.dtype) if x.is_floating_point() else x, dtype=run.dtype)

    def keeping(module: nn.Module, optimizer: torch.optim.Optimizer) -> Keeper:
        stretches_of.append(Stretch(run, start, end, module, optimizer))
        return stretches_of[0]

    try:
        replay(training, check=look, keeping=keeping)
    except _Enough:
        pass
    except Diverged:
        stretches_of[0].first, stretches_of[0].off = stretches_of[0].first or stretches_of[0].step, float("inf")
    return stretches_of[0]
