"""A point of a training run that was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.fractions import steps_at
from engine.models.adam import FIRST, SECOND, STEPS
from engine.models.network import Network
from engine.models.recipe import TrainingRecipe
from engine.models.wrapped import by_names
from engine.question.processes import Trajectory


@dataclass(frozen=True)
class Checkpoint:
    """A point of the training run: the selected parameters θ_t (P,) and the learning rate there.

    first, second (P,): the optimizer's moments after so many `steps`, where the training kept them.
    """

    theta: Tensor
    learning_rate: float
    first: Tensor | None = None
    second: Tensor | None = None
    steps: int = 0

    @classmethod
    def of(cls, state: Mapping[str, Tensor], rate: float, network: Network) -> Checkpoint:
        """Out of a state dict of the module, with Adam's moments where it holds them."""
        def flat(values: Mapping[str, Tensor], prefix: str = "") -> Tensor:
            return network.flatten({name: values[prefix + name] for name in network.names}).to(network.theta)

        moments = (flat(state, FIRST), flat(state, SECOND), int(state[STEPS])) if STEPS in state else ()
        return cls(flat(by_names(state, network.names)), rate, *moments)

    def double(self) -> Checkpoint:
        """The same in float64."""
        first, second = (None if moments is None else moments.double() for moments in (self.first, self.second))
        return Checkpoint(self.theta.double(), self.learning_rate, first, second, self.steps)


def visited(process: Trajectory, rates: Sequence[float], recipe: TrainingRecipe | None, n: int
            ) -> list[tuple[int, float]]:
    """(index, weight) of the stored checkpoints that a trajectory visits, which a training on n examples by the recipe
    left with these rates.

    Raises `InvalidInput` where there are fewer, where none is stored at a fraction, and where the recipe is not known
    but has to be.
    """
    if len(rates) < process.checkpoints and not process.fractions:
        raise InvalidInput(f"The process needs {process.checkpoints} checkpoints, but the problem has {len(rates)}; "
                           "train with more `checkpoints` in the recipe, or use fewer.")
    chosen, weights = list(range(len(rates)))[-process.checkpoints:], list(rates)
    if process.fractions or process.weights == "step":
        if recipe is None:
            raise InvalidInput("The steps at which checkpoints were stored are not known without the training's "
                               "recipe; leave `fractions` and `weights` of the trajectory out.")
        per_epoch = recipe.per_epoch(n)
        ends = [step + 1 for step in recipe.checkpoint_steps(per_epoch)]
        if process.fractions:
            chosen = _stored(process, ends, recipe.epochs * per_epoch)
        if process.weights == "step":
            weights = [recipe.rate_at(end - 1, per_epoch) for end in ends]
    return [(index, weights[index]) for index in chosen]


def _stored(process: Trajectory, ends: Sequence[int], total: int) -> list[int]:
    wanted = steps_at(process.fractions, total)
    if missing := [step for step in wanted if step not in ends]:
        raise InvalidInput(f"The training stored no checkpoint after step {missing[0]:,} of {total:,}; train with "
                           f"`checkpoints_at` {process.fractions} in the recipe, or use other fractions.")
    return [ends.index(step) for step in wanted]
