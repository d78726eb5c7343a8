"""How a model is trained, as a value: rates and kept states are pure functions of the epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from engine.basics.errors import InvalidInput
from engine.basics.values import Count, Number, Value, canonical_json, short


class Recipe(Value):
    """How a model is trained: stochastic gradient descent with momentum (paper, Appendix A-1).

    learning_rate η: constant, or η (1 + cos(π e / epochs)) / 2 in epoch e = 0, 1, … (`cosine`). weight_decay: λ.
    checkpoints: how many states are kept, evenly spaced, each at the end of an epoch and the last one at the end of
    training; 0 for none. precision: `mixed` computes the passes in bfloat16 on a GPU, with weights, loss and steps in
    the precision of the data; on a CPU it changes nothing. The seed is no part of it.
    """

    epochs: Annotated[Count, Field(ge=1, le=100_000)]
    batch_size: Annotated[Count, Field(ge=1, le=1_000_000)]
    learning_rate: Annotated[Number, Field(gt=0, le=100)]
    momentum: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[Number, Field(ge=0, le=100)] = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    checkpoints: Annotated[Count, Field(ge=0, le=1_000)] = 0
    precision: Literal["full", "mixed"] = "full"

    @model_serializer(mode="wrap")
    def _without_full_precision(self, serialize: SerializerFunctionWrapHandler) -> dict:
        """Full precision is not written: recipes keep the digests they had."""
        return {key: value for key, value in serialize(self).items() if (key, value) != ("precision", "full")}

    @model_validator(mode="after")
    def _no_more_checkpoints_than_epochs(self) -> Recipe:
        if self.checkpoints > self.epochs:
            raise InvalidInput(f"{self.checkpoints} checkpoints do not fit into {self.epochs} epochs, at whose ends "
                               "they are kept; ask for fewer.")
        return self

    @property
    def canonical_json(self) -> str:
        """One text for one recipe."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def sentence(self) -> str:
        """How a model is trained, in one English sentence."""
        momentum = f", momentum {short(self.momentum)}" if self.momentum else ""
        decay = f", weight decay {short(self.weight_decay)}" if self.weight_decay else ""
        return (f"Trained for {self.epochs:,} epochs of stochastic gradient descent in batches of {self.batch_size:,}, "
                f"learning rate {short(self.learning_rate)} ({self.schedule}){momentum}{decay}.")

    def rate(self, epoch: int) -> float:
        """The learning rate in epoch 0, 1, …."""
        return self.learning_rate * SCHEDULES[self.schedule](epoch / self.epochs)

    @property
    def kept_epochs(self) -> tuple[int, ...]:
        """The epochs at whose ends a checkpoint is kept, ascending."""
        return tuple((self.epochs * (place + 1) + self.checkpoints // 2) // self.checkpoints - 1
                     for place in range(self.checkpoints))


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda share: 1.0,
    "cosine": lambda share: 0.5 * (1.0 + math.cos(math.pi * share)),
}
"""The factor of the learning rate at a share of the training, in [0, 1)."""

PAPER_RESNET = Recipe(epochs=40, batch_size=128, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                      checkpoints=4, precision="mixed")
"""The networks of noisy label detection (paper, Table A-3 and Appendix A-2): a checkpoint every ten epochs."""

PAPER_CNN = Recipe(epochs=50, batch_size=128, learning_rate=0.01, momentum=0.9, weight_decay=1e-4)
"""The CNN of the non-convex check (paper, Appendix A-1)."""
