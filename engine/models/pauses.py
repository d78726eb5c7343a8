"""A long training kept on disk now and then, so that it goes on where it was stopped."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput, MissingData
from engine.models.checkpoint import read_state, save_checkpoint

EVERY = 30.0
"""Seconds between two writes; a shorter training leaves no file."""
MODULE, OPTIMIZER, CHECKPOINT, LOSSES = "module/", "optimizer/", "checkpoint-", "losses"


State = dict[str, Tensor]
"""Of a checkpoint: parameters and buffers by name, with what the recipe keeps of the optimizer."""


@dataclass(frozen=True)
class Reached:
    """A training after a step. step: 1 for the first. rate: the learning rate that a checkpoint stands for, 0 where
    none is kept. loss: the mean over the `steps` since the checkpoint before, or since it went on."""

    step: int
    rate: float
    loss: float
    steps: int
    state: State


class Keeper(ABC):
    """What is kept on disk of a training under way, so that it goes on where it was stopped."""

    @abstractmethod
    def resume(self, losses: list[float], checkpoints: list[tuple[State, float]], rates: Sequence[float],
               per_epoch: int) -> int:
        """Take up what is kept; how many steps are behind. rates: of all checkpoints."""

    def reached(self, point: Reached) -> bool:
        """Receives every checkpoint; returns whether it has been taken over and need not be held in memory."""
        return False

    def due(self) -> bool:
        """Whether it wants to receive the step that was just taken."""
        return False

    def paused(self, point: Reached) -> None:  # noqa: B027
        """Receives a step that was due, of which no checkpoint is kept."""

    def after(self, epochs: int, losses: list[float], checkpoints: list[tuple[State, float]]) -> None:  # noqa: B027
        """Called at the end of every epoch."""

    def forget(self) -> None:  # noqa: B027
        """The training is over."""


class Pauses(Keeper):
    """The file of one training: module, optimizer, losses and checkpoints after an epoch. None keeps nothing."""

    def __init__(self, path: Path | None, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.path, self.module, self.optimizer = path, module, optimizer
        self._last = time.monotonic()

    def resume(self, losses: list[float], checkpoints: list[tuple[State, float]], rates: Sequence[float],
               per_epoch: int) -> int:
        """Take up what the file holds, if there is one."""
        if self.path is None or not self.path.is_file():
            return 0
        try:
            state = read_state(self.path)
            self.module.load_state_dict(_part(state, MODULE))
            done = state[LOSSES].tolist()
            states = [(values, rate) for index, rate in enumerate(rates)
                      if (values := _part(state, f"{CHECKPOINT}{index}/"))]
            moved = _moved(_part(state, OPTIMIZER), self.module)
        except (InvalidInput, MissingData, RuntimeError, KeyError):  # damaged: the training starts anew
            self.forget()
            raise InvalidInput("A paused training could not be read and was removed; start it again.") from None
        for parameter, state_of in moved.items():
            self.optimizer.state[parameter] = state_of
        losses[:], checkpoints[:] = done, states
        return len(done) * per_epoch

    def after(self, epochs: int, losses: list[float], checkpoints: list[tuple[State, float]]) -> None:
        """Write the file where the last one is old enough."""
        if self.path is None or time.monotonic() - self._last < EVERY:
            return
        state = {f"{MODULE}{name}": value for name, value in self.module.state_dict().items()}
        state |= optimizer_state(dict(self.module.named_parameters()), self.optimizer)
        state |= {f"{CHECKPOINT}{index}/{name}": value for index, (values, _) in enumerate(checkpoints)
                  for name, value in values.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        save_checkpoint({**state, LOSSES: torch.tensor(losses[:epochs], dtype=torch.float64)}, self.path)
        self._last = time.monotonic()

    def forget(self) -> None:
        """The training is over, or its file is of no use."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


Keeping = Callable[[nn.Module, torch.optim.Optimizer], Keeper]
"""What keeps a training of a module by an optimizer."""


def load_optimizer(written: State, module: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Give an optimizer of the module what `optimizer_state` returned, by the names without their prefix; raises
    `KeyError` for a parameter that is not there."""
    for parameter, state in _moved(written, module).items():
        optimizer.state[parameter] = state


def _moved(written: State, module: nn.Module) -> dict[nn.Parameter, dict[str, Tensor]]:
    """What the optimizer keeps of every parameter."""
    by_parameter: dict[nn.Parameter, dict[str, Tensor]] = {}
    parameters = dict(module.named_parameters())
    for key, value in written.items():
        name, _, what = key.rpartition("/")
        own = parameters[name]
        by_parameter.setdefault(own, {})[what] = value.to(own) if value.shape == own.shape else value
    return by_parameter


def optimizer_state(named: Mapping[str, nn.Parameter], optimizer: torch.optim.Optimizer) -> State:
    """What an optimizer keeps of parameters, by `optimizer/NAME/WHAT`."""
    return {f"{OPTIMIZER}{name}/{what}": value for name, parameter in named.items()
            for what, value in optimizer.state.get(parameter, {}).items() if isinstance(value, Tensor)}


def _part(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
