"""A recorded training as problems take it: the module at its end, its checkpoints, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from engine.models.pauses import State
from engine.models.recorded.folder import Recording
from engine.models.recorded.recipe import RecordedRecipe


@dataclass(frozen=True)
class Opened:
    """module: at the last checkpoint. build: () -> it as it was before the first step. checkpoints: states with what
    each weighs in a trajectory."""

    module: nn.Module
    build: Callable[[], nn.Module]
    recipe: RecordedRecipe
    checkpoints: Sequence[tuple[State, float]]


def opened(run: Recording, build: Callable[[], nn.Module], contents: Sequence[bytes]) -> Opened:
    """For data whose rows hold `contents`. build: () -> a module of the recorded kind. Raises `InvalidInput` where it
    is another kind."""
    return Opened(run.put(build(), run.facts.checkpoints[-1]), run.builder(build), RecordedRecipe.of(run, contents),
                  run.checkpoints())
