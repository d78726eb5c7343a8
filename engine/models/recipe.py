"""How a model is trained, as a value: rates and checkpoints are pure functions of the epoch."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from pydantic import model_validator
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.settings import FREE, GROWS, setting
from engine.basics.values import Count, Number, Sparse, canonical_json, short
from engine.models import adam
from engine.models.augmentation import augmented
from engine.models.knobs import Knob
from engine.models.layout import layout_for
from engine.models.optimizers import KINDS
from engine.models.rules import Rule


@dataclass(frozen=True)
class MicroBatch:
    """Examples that go through the model at once; a step adds up the gradients of one or several.

    rows (b,). randomness: what the masks of dropout are sampled from. weight: by which the mean loss of its examples is
    multiplied; None for its fraction of the examples of the step.
    """

    rows: Tensor
    randomness: int | Tensor
    weight: float | None = None


class TrainingRecipe(Sparse, ABC):
    """What every way of training says of itself, as pure functions of the step 0, 1, …

    Every epoch visits all examples once, in batches of `examples_a_batch`; `per_epoch` is how many batches that makes.
    precision: `mixed` computes the passes in bfloat16 on a GPU, and on a CPU that gains from it
    (`engine.models.gain`), with weights, loss and steps in the precision of the data.
    """

    unwritten: ClassVar[tuple[str, ...]] = ("precision",)
    epochs: Count
    learning_rate: Number
    checkpoints: Count = 0
    precision: Literal["full", "mixed"] = setting(
        "full", "Precision of the passes: `mixed` is bfloat16 on a GPU, and on a CPU that gains from "
                "it.", "this program",
        "`mixed` takes less time on such a CPU")

    @property
    @abstractmethod
    def examples_a_batch(self) -> int:
        """How many examples a batch holds; the last one of an epoch may hold fewer."""

    @property
    def stated_penalty(self) -> float | None:
        """λ of the objective, where the recipe states it."""
        return None

    @property
    def mixed(self) -> bool:
        """Whether passes may run in bfloat16, with weights, loss and steps in the precision of the data."""
        return self.precision == "mixed"

    @property
    def precision_clause(self) -> str:
        """What its sentence says of that; empty where passes run in the precision of the data."""
        return ", passes in bfloat16 if that is faster on the CPU" if self.mixed else ""

    @property
    def offers(self) -> frozenset[str]:
        """What a model that it trained offers besides what all of its kind do, see `engine.problems.problem.Problem`.
        """
        return frozenset()

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
    def stacks(self) -> bool:
        """Whether many trainings by it may be one program over stacked weights."""
        return True

    @property
    def selection(self) -> str:
        """The names of the trained parameters, as `engine.models.network.NetworkOptions` reads them."""
        return "all"

    @abstractmethod
    def rate_at(self, step: int, per_epoch: int) -> float:
        """The learning rate of a step."""

    def rates_at(self, step: int, per_epoch: int) -> tuple[float, ...]:
        """That of every group of parameters; by default there is one."""
        return self.rate_at(step, per_epoch),

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

    def micro_batches(self, rows: Tensor, seed: int, epoch: int, number: int) -> tuple[MicroBatch, ...]:
        """How rows (b,), batch 0, 1, … of an epoch, go through the model; by default at once."""
        return MicroBatch(rows, self.randomness(seed, epoch, number)),

    def inputs(self, x: Tensor, rows: Tensor, seed: int, epoch: int) -> Tensor:
        """What epoch 0, 1, … reads of rows (b,) of x (n, …); by default the rows as they are."""
        return x[rows]

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


PAPER, WITHOUT = "the paper's CNN", "none, as for the paper's CNN"


class Recipe(TrainingRecipe):
    """How a network is trained; by default stochastic gradient descent with momentum (paper, Appendix A-1).

    learning_rate η: times a factor of `SCHEDULES` at the epochs that are over. weight_decay: λ, a part of the gradient
    but for AdamW. checkpoints: how many states are stored, evenly spaced, each at the end of an epoch and the last one
    at the end of training; 0 for none. The seed is no part of it; it also decides what `flip` and `crop` do.
    """

    unwritten: ClassVar[tuple[str, ...]] = (*TrainingRecipe.unwritten, "optimizer", "flip", "crop")
    epochs: Count = setting(..., "Passes over the training examples.", PAPER, GROWS, ge=1, le=100_000)
    batch_size: Count = setting(
        ..., "Examples a step.", PAPER, "fewer steps if it is larger; retraining is faster", ge=1, le=1_000_000)
    optimizer: Literal["sgd", "nesterov", "adam", "adamw"] = setting(
        "sgd", "The update rule: SGD with momentum or Nesterov's momentum, Adam (decay in the gradient) or AdamW "
        "(decoupled decay).", PAPER, "none but memory: Adam stores two numbers per parameter")
    learning_rate: Number = setting(..., "η, the size of a step.", PAPER, FREE, gt=0, le=100)
    momentum: Number = setting(
        0.0, "μ of SGD and of Nesterov's variant; Adam has none.", "none; the paper's CNN has 0.9", FREE, ge=0, lt=1)
    weight_decay: Number = setting(
        0.0, "λ of the penalty (λ/2)‖θ‖² in the objective.", "none; the paper's CNN has 1e-4", FREE, ge=0, le=100)
    schedule: Literal["constant", "cosine", "linear", "step"] = setting(
        "constant",
        "Schedule of the learning rate over the epochs: constant, cosine or linear to zero, or divided by ten after "
        "half and again after three quarters of them.", PAPER, FREE)
    flip: bool = setting(False, "Mirror each image with probability 1/2 in every epoch.", WITHOUT, FREE)
    crop: Count = setting(
        0, "Width in pixels of the zero padding within which images are shifted at random in every "
           "epoch.", WITHOUT, FREE,
        ge=0, le=64)
    checkpoints: Count = setting(
        0, "Number of stored states, evenly spaced, at most one per epoch, for TracIn.", "this program",
        "space on disk in proportion", ge=0, le=1_000)

    @model_validator(mode="after")
    def _goes_together(self) -> Recipe:
        if self.checkpoints > self.epochs:
            raise InvalidInput(f"{self.checkpoints} checkpoints do not fit into {self.epochs} epochs, at whose ends "
                               "they are stored; use fewer.")
        if self.adaptive and self.momentum:
            raise InvalidInput(f"`{self.optimizer}` has no momentum {short(self.momentum)} but its own moments (β₁ = "
                               f"{short(adam.BETAS[0])}); leave `momentum` out, or use `sgd`.")
        if self.optimizer == "nesterov" and not self.momentum:
            raise InvalidInput("Nesterov's variant needs momentum, which is 0; give a `momentum` such as 0.9.")
        return self

    @property
    def stated_penalty(self) -> float | None:
        return self.weight_decay if "weight_decay" in self.model_fields_set else None

    @property
    def adaptive(self) -> bool:
        """Whether every parameter has a step size of its own."""
        return self.optimizer.startswith("adam")

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"moments"} if self.adaptive and self.checkpoints else ())

    @property
    def augments(self) -> bool:
        """Whether an epoch reads pictures otherwise than they are."""
        return self.flip or self.crop > 0

    @property
    def sentence(self) -> str:
        momentum = f", momentum {short(self.momentum)}" if self.momentum else ""
        decay = f", weight decay {short(self.weight_decay)}" if self.weight_decay else ""
        return " ".join([
            f"Trained for {self.epochs:,} epochs {TITLES[self.optimizer]} in batches of {self.batch_size:,}, learning "
            f"rate {short(self.learning_rate)} ({self.schedule}){momentum}{decay}{self._augmentation}"
            f"{self.precision_clause}.", *self.limits])

    @property
    def _augmentation(self) -> str:
        done = ["mirrored"] * self.flip + [f"shifted by up to {self.crop} pixels"] * (self.crop > 0)
        return f", images {' and '.join(done)} at random" if done else ""

    @property
    def limits(self) -> list[str]:
        """What processes and estimators do not follow of it, in sentences."""
        adaptive = ("The process `trajectory` adds up plain gradient steps, not Adam's; LESS, and estimators of "
                    "`replay`, read Adam's moments.")
        augments = ("Steps, gradients, Hessians and SOURCE read images as they are; `retrain`, and `replay` step "
                    "by step, repeat the augmentation.")
        return [adaptive] * self.adaptive + [augments] * self.augments

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

    @property
    def _options(self) -> dict[str, Any]:
        """Of its optimizer, by torch's names."""
        own = {"betas": adam.BETAS, "eps": adam.EPSILON} if self.adaptive else {
            "momentum": self.momentum, "nesterov": self.optimizer == "nesterov"}
        return {**own, "weight_decay": self.weight_decay}

    def build_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return KINDS[KIND[self.optimizer]].build(parameters, self.learning_rate, self._options)

    @property
    def rule(self) -> Rule:
        return KINDS[KIND[self.optimizer]].rule(self._options, math.inf)

    def moments(self, optimizer: torch.optim.Optimizer, named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
        return adam.moments(optimizer, named) if self.adaptive else {}

    def no_moments(self, named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
        return adam.no_moments(named) if self.adaptive else {}

    def inputs(self, x: Tensor, rows: Tensor, seed: int, epoch: int) -> Tensor:
        if not self.augments:
            return x[rows]
        return augmented(x, rows, flip=self.flip, crop=self.crop, seed=seed, epoch=epoch)

    @property
    def knobs(self) -> list[Knob]:
        return [*super().knobs, *([Knob("Adam's ε", short(adam.EPSILON))] if self.adaptive else [])]

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
    "linear": lambda fraction: 1.0 - fraction,
    "step": lambda fraction: 0.1 ** ((fraction >= 0.5) + (fraction >= 0.75)),
}
"""The factor of the learning rate at a fraction of the training, in [0, 1); `step` as He et al. 2016."""
KIND = {"sgd": "SGD", "nesterov": "SGD", "adam": "Adam", "adamw": "AdamW"}
"""Optimizer of a recipe -> its kind in `engine.models.optimizers`."""
TITLES = {"sgd": "of stochastic gradient descent", "adam": "by Adam", "adamw": "by AdamW",
          "nesterov": "of stochastic gradient descent with Nesterov's momentum"}
"""As a sentence goes on after its epochs."""

PAPER_RESNET = Recipe(epochs=40, batch_size=128, learning_rate=0.05, momentum=0.9, weight_decay=5e-4, schedule="cosine",
                      checkpoints=4, precision="mixed")
"""The networks of noisy label detection (paper, Table A-3 and Appendix A-2): a checkpoint every ten epochs."""

PAPER_CNN = Recipe(epochs=50, batch_size=128, learning_rate=0.01, momentum=0.9, weight_decay=1e-4)
"""The CNN of the non-convex check (paper, Appendix A-1)."""
