"""A point of a training run that was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from engine.models.adam import FIRST, SECOND, STEPS
from engine.models.network import Network
from engine.models.wrapped import by_names


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
