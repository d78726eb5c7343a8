"""How a model is trained, as a value: rates and checkpoints are pure functions of the epoch."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.values import Count, Number, Sparse, canonical_json, short
from engine.models.knobs import Knob
from engine.models.layout import layout_for
from engine.models.rules import Momentum, Rule


class TrainingRecipe(Sparse, ABC):
    """What every way of training says of itself, as pure functions of the step 0, 1, …

    Every epoch visits all examples once, in batches of `examples_a_batch`; `per_epoch` is how many batches that makes.
    precision: `mixed` computes the passes in bfloat16 on a GPU, and on a CPU that gains from it
    (`engine.models.gain`), with weights, loss and steps in the precision of the data.
    """

    unwritten: ClassVar = ("precision",)
    epochs: Count
    learning_rate: Number
    checkpoints: Count = 0
    precision: Literal["full", "mixed"] = "full"

    @property
    @abstractmethod
    def examples_a_batch(self) -> int:
        """How many examples a batch holds; the last one of an epoch may hold fewer."""

    @property
    def mixed(self) -> bool:
        """Whether passes may run in bfloat16, with weights, loss and steps in the precision of the data."""
        return self.precision == "mixed"

    @property
    def precision_clause(self) -> str:
        """What its sentence says of that; empty where passes run in the precision of the data."""
        return ", passes in bfloat16 where the processor gains from it" if self.mixed else ""

    @abstractmethod
    def free(self, module: nn.Module) -> None:
        """Mark the parameters that are trained by `requires_grad`, and freeze the others."""

    @abstractmethod
    def build_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Fresh, for the trained parameters."""

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """What that optimizer does with a gradient, what `limit` does to it included, as a pure function."""

    @property
    def selection(self) -> str:
        """The names of the trained parameters, as `engine.models.network.Network` reads them."""
        return "all"

    @abstractmethod
    def rate_at(self, step: int, per_epoch: int) -> float:
        """The learning rate of a step."""

    def order(self, n: int, seed: int) -> Iterator[Tensor]:
        """A permutation of n examples for every epoch, which is cut into batches."""
        generator = torch.Generator().manual_seed(seed)
        for _ in range(self.epochs):
            yield torch.randperm(n, generator=generator)

    def per_epoch(self, n: int) -> int:
        """Batches an epoch of n examples."""
        return math.ceil(n / self.examples_a_batch)

    def batches(self, n: int, seed: int) -> Iterator[tuple[Tensor, ...]]:
        """The rows of every batch, one tuple an epoch."""
        for rows in self.order(n, seed):
            yield rows.split(self.examples_a_batch)

    def randomness(self, seed: int, epoch: int, number: int) -> int | Tensor:
        """What the masks of dropout are sampled from in batch 0, 1, … of an epoch: a seed, or a generator's state."""
        return (seed * 1_000_003 + epoch) * 1_000_003 + number

    def layout(self, module: nn.Module, x: Tensor) -> Callable[[Tensor], Tensor]:
        """How batches of x (n, …) lie in memory."""
        return layout_for(module, x, self.mixed)

    @property
    def knows_its_end(self) -> bool:
        """Whether `verify` has something to compare with."""
        return False

    def verify(self, module: nn.Module, training: Any, check: Callable[[], None] = lambda: None) -> None:
        """Raises `InvalidInput` where `training`, without an intervention, is known to end elsewhere than at `module`.
        """

    @abstractmethod
    def checkpoint_steps(self, per_epoch: int) -> tuple[int, ...]:
        """The steps after which a checkpoint is stored, ascending."""

    @abstractmethod
    def checkpoint_rates(self, per_epoch: int) -> tuple[float, ...]:
        """The learning rate that each checkpoint stands for."""

    def moments(self, optimizer: torch.optim.Optimizer, named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
        """What of the optimizer's state belongs to a checkpoint, by names that no parameter has; nothing by default."""
        return {}

    def no_moments(self, named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
        """The same of an optimizer that has seen no step."""
        return {}

    def limit(self, parameters: Sequence[nn.Parameter]) -> None:
        """What is done to gradients before they are used; nothing by default."""

    @property
    def knobs(self) -> list[Knob]:
        """What of it decides how smooth a training is."""
        return [Knob("learning rate", short(self.learning_rate), "a smaller learning rate"),
                Knob("batch size", f"{self.examples_a_batch:,}", "larger batches")]

    @property
    def canonical_json(self) -> str:
        """One text for one recipe."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    @abstractmethod
    def sentence(self) -> str:
        """How a model is trained, in one English sentence."""


class Recipe(TrainingRecipe):
    """How a model is trained: stochastic gradient descent with momentum (paper, Appendix A-1).

    learning_rate η: constant, or η (1 + cos(π e / epochs)) / 2 in epoch e = 0, 1, … (`cosine`). weight_decay: λ.
    checkpoints: how many states are stored, evenly spaced, each at the end of an epoch and the last one at the end of
    training; 0 for none. The seed is no part of it.
    """

    epochs: Annotated[Count, Field(ge=1, le=100_000)]
    batch_size: Annotated[Count, Field(ge=1, le=1_000_000)]
    learning_rate: Annotated[Number, Field(gt=0, le=100)]
    momentum: Annotated[Number, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[Number, Field(ge=0, le=100)] = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    checkpoints: Annotated[Count, Field(ge=0, le=1_000)] = 0

    @model_validator(mode="after")
    def _no_more_checkpoints_than_epochs(self) -> Recipe:
        if self.checkpoints > self.epochs:
            raise InvalidInput(f"{self.checkpoints} checkpoints do not fit into {self.epochs} epochs, at whose ends "
                               "they are stored; ask for fewer.")
        return self

    @property
    def sentence(self) -> str:
        momentum = f", momentum {short(self.momentum)}" if self.momentum else ""
        decay = f", weight decay {short(self.weight_decay)}" if self.weight_decay else ""
        return (f"Trained for {self.epochs:,} epochs of stochastic gradient descent in batches of {self.batch_size:,}, "
                f"learning rate {short(self.learning_rate)} ({self.schedule}){momentum}{decay}{self.precision_clause}.")

    @property
    def examples_a_batch(self) -> int:
        return self.batch_size

    def rate(self, epoch: int) -> float:
        """The learning rate in epoch 0, 1, …."""
        return self.learning_rate * SCHEDULES[self.schedule](epoch / self.epochs)

    @property
    def checkpoint_epochs(self) -> tuple[int, ...]:
        """The epochs at whose ends a checkpoint is stored, ascending."""
        return tuple((self.epochs * (index + 1) + self.checkpoints // 2) // self.checkpoints - 1
                     for index in range(self.checkpoints))

    def free(self, module: nn.Module) -> None:
        module.requires_grad_(True)

    def build_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=self.learning_rate, momentum=self.momentum,
                               weight_decay=self.weight_decay)

    @property
    def rule(self) -> Rule:
        return Momentum(self.momentum, self.weight_decay)

    def rate_at(self, step: int, per_epoch: int) -> float:
        return self.rate(step // per_epoch)

    def checkpoint_steps(self, per_epoch: int) -> tuple[int, ...]:
        return tuple((epoch + 1) * per_epoch - 1 for epoch in self.checkpoint_epochs)

    def checkpoint_rates(self, per_epoch: int) -> tuple[float, ...]:
        """The learning rates of the epochs at whose ends checkpoints are stored."""
        return tuple(self.rate(epoch) for epoch in self.checkpoint_epochs)


SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda fraction: 1.0,
    "cosine": lambda fraction: 0.5 * (1.0 + math.cos(math.pi * fraction)),
}
"""The factor of the learning rate at a fraction of the training, in [0, 1)."""

PAPER_RESNET = Recipe(epochs=40, batch_size=128, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                      checkpoints=4, precision="mixed")
"""The networks of noisy label detection (paper, Table A-3 and Appendix A-2): a checkpoint every ten epochs."""

PAPER_CNN = Recipe(epochs=50, batch_size=128, learning_rate=0.01, momentum=0.9, weight_decay=1e-4)
"""The CNN of the non-convex check (paper, Appendix A-1)."""
