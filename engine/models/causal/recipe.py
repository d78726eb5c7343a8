r"""How a language model is fine-tuned, as a value: AdamW with warm-up, a cosine and clipped gradients."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import model_validator
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.fractions import Fractions, fractions_of, steps_at
from engine.basics.settings import FREE, GROWS, setting
from engine.basics.values import Count, Number, short
from engine.models import adam
from engine.models.adam import BETAS, EPSILON
from engine.models.knobs import Knob
from engine.models.recipe import SCHEDULES, TrainingRecipe
from engine.models.rules import AdamW, Rule

ADAPTER_NAME = r"\.lora_[AB]\."
"""What the names of adapters' parameters have in common."""
PAPER = "the paper"
AFTERWARDS = {"cosine": "a cosine", "linear": "a line down to zero", "constant": "no decline"}
"""As a sentence has a schedule after the warm-up."""


class FineTuning(TrainingRecipe):
    """How a language model is fine-tuned by AdamW; the defaults are the paper's.

    The learning rate rises linearly for a fraction `warmup` of the steps, and then follows the schedule. Checkpoints
    are equally spaced, or after the fractions `checkpoints_at`; each stands for the steps since the one before.
    """

    unwritten: ClassVar[tuple[str, ...]] = (*TrainingRecipe.unwritten, "schedule", "checkpoints_at", "dropout")
    stored: ClassVar = {"checkpoints", "checkpoints_at"}
    rank: Count = setting(
        16, "Rank of the adapters; 0 trains all parameters of the model itself.", PAPER,
        "memory and gradient size, in proportion", ge=0, le=4_096)
    scaling: Number = setting(32.0, "LoRA's α: an adapter is scaled by α/rank.", PAPER, FREE, gt=0, le=1e6)
    dropout: Number = setting(
        0.0, "Dropout: the fraction of an adapter's inputs set to 0 in a training step.", "none", "slower steps",
        ge=0, lt=1)
    targets: str = setting(
        "all-linear", "Names of the layers with adapters, separated by commas.", PAPER,
        "memory and gradient size, in proportion to the number of layers")
    learning_rate: Number = setting(1e-4, "The peak learning rate η of AdamW.", PAPER, FREE, gt=0, le=100)
    weight_decay: Number = setting(0.0, "The decoupled weight decay λ of AdamW.", PAPER, FREE, ge=0, le=100)
    schedule: Literal["cosine", "constant", "linear"] = setting(
        "cosine", "Schedule of the learning rate after the warm-up: cosine or linear to zero, or "
                  "constant.", PAPER, FREE)
    warmup: Number = setting(0.03, "Fraction of the steps during which the learning rate "
                                   "rises.", PAPER, FREE, ge=0, lt=1)
    clip: Number = setting(1.0, "The gradient norm at which a step is clipped.", PAPER, FREE, gt=0, le=1e6)
    batch: Count = setting(8, "Records a step.", PAPER, "memory in proportion; fewer steps", ge=1, le=1_000_000)
    epochs: Count = setting(1, "Passes over the records; 0 leaves the model as it is.", PAPER, GROWS, ge=0, le=100_000)
    context: Count = setting(
        1_024, "Maximal number of tokens of a record.", PAPER, "time and memory of longer records", ge=8, le=1_000_000)
    checkpoints: Count = setting(
        4, "Number of training states that are stored, the last being its end.", PAPER,
        "work after the training, and space on disk, in proportion", ge=1, le=1_000)
    checkpoints_at: Fractions = setting(
        "", "Fractions of the training after which a state is stored, such as 0.33,0.66,1, instead of equally spaced "
        "ones; the last is its end.", "none", FREE)

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, data: Any) -> Any:
        """`checkpoints` is how many fractions there are."""
        at = data.get("checkpoints_at") if isinstance(data, Mapping) else ""
        if not isinstance(at, str) or not (fractions := fractions_of(at)):
            return data
        if fractions[-1] != 1.0:
            raise InvalidInput(f"The stored points {at[:40]} must end with 1, the end of the training.")
        return {**data, "checkpoints": len(fractions)}

    @property
    def examples_a_batch(self) -> int:
        return self.batch

    @property
    def selection(self) -> str:
        return ADAPTER_NAME if self.rank else "all"

    def free(self, module: nn.Module) -> None:
        for name, parameter in module.named_parameters():
            parameter.requires_grad_(not self.rank or re.search(ADAPTER_NAME, name) is not None)

    def build_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=self.learning_rate, betas=BETAS, eps=EPSILON,
                                 weight_decay=self.weight_decay)

    @property
    def rule(self) -> Rule:
        return AdamW(self.weight_decay, self.clip, BETAS, EPSILON)

    def moments(self, optimizer: torch.optim.Optimizer, named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
        return adam.moments(optimizer, named)

    def no_moments(self, named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
        return adam.no_moments(named)

    def limit(self, parameters: Sequence[nn.Parameter]) -> None:
        torch.nn.utils.clip_grad_norm_(parameters, self.clip)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of step 0 … total − 1: linear warm-up, then the schedule."""
        warm = math.ceil(self.warmup * total)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        if self.schedule != "cosine":
            return self.learning_rate * SCHEDULES[self.schedule]((step - warm) / max(1, total - warm))
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * (step - warm) / max(1, total - warm)))

    @property
    def knobs(self) -> list[Knob]:
        return [*super().knobs, Knob("warm-up", f"{self.warmup:.0%} of the steps", "a longer warm-up"),
                Knob("Adam's ε", short(EPSILON), "a larger ε of Adam")]

    def rate_at(self, step: int, per_epoch: int) -> float:
        return self.rate(step, self.epochs * per_epoch)

    def order(self, n: int, seed: int) -> Iterator[Tensor]:
        """The same on every version of torch."""
        for epoch in range(self.epochs):
            yield torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(n))

    def checkpoint_steps(self, per_epoch: int) -> tuple[int, ...]:
        total = self.epochs * per_epoch
        if self.checkpoints_at and self.checkpoints and total:
            return tuple(end - 1 for end in steps_at(self.checkpoints_at, total))
        ends = {round(total * (part + 1) / self.checkpoints) for part in range(self.checkpoints)} - {0}
        return tuple(end - 1 for end in sorted(ends))

    def checkpoint_rates(self, per_epoch: int) -> tuple[float, ...]:
        """The sums of the learning rates since the checkpoint before."""
        ends = [step + 1 for step in self.checkpoint_steps(per_epoch)]
        return tuple(sum(self.rate_at(step, per_epoch) for step in range(start, end))
                     for start, end in zip([0, *ends], ends, strict=False))

    @property
    def sentence(self) -> str:
        if not self.epochs:
            return "As it is, without any training here."
        dropped = f" with dropout {short(self.dropout)}" if self.dropout else ""
        what = f"Adapters of rank {self.rank}{dropped} trained" if self.rank else "All parameters trained"
        decay = f", weight decay {short(self.weight_decay)}" if self.weight_decay else ""
        return (f"{what} for {self.epochs:,} epochs with AdamW in batches of {self.batch:,}, learning rate "
                f"{short(self.learning_rate)} with warm-up and "
                f"{AFTERWARDS[self.schedule]}{decay}{self.precision_clause}.")
