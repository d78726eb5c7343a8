"""A point of a training run that was kept."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


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

    def double(self) -> Checkpoint:
        """The same in float64."""
        first, second = (None if moments is None else moments.double() for moments in (self.first, self.second))
        return Checkpoint(self.theta.double(), self.learning_rate, first, second, self.steps)
