"""A recorded training as problems take it: the module at its end, its checkpoints, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import nn

from engine.models.adam import FIRST, SECOND, STEPS
from engine.models.pauses import OPTIMIZER, State
from engine.models.recorded.folder import Recording
from engine.models.recorded.recipe import RecordedRecipe

MOMENTS = {"exp_avg": FIRST, "exp_avg_sq": SECOND}
"""How torch and a checkpoint name them."""


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
    module = run.put(build(), run.facts.checkpoints[-1])
    still = {name: value for name, value in module.state_dict().items() if name not in run.trained}
    recipe = RecordedRecipe.of(run, contents)
    return Opened(module, run.builder(build), recipe,
                  [({**still, **state, **moments(run, step)}, weight)
                   for step, (state, weight) in zip(run.facts.checkpoints[1:], run.checkpoints(), strict=True)])


def moments(run: Recording, step: int) -> State:
    """Adam's first and second moments after so many steps, as a checkpoint holds them; nothing of another optimizer, or
    of one with other constants than `adam_update` has."""
    if not run.facts.adam:
        return {}
    state: State = {}
    for key, value in run.state(step, OPTIMIZER).items():
        name, _, what = key.rpartition("/")
        state |= {MOMENTS[what] + name: value} if what in MOMENTS else {STEPS: value}
    return state
