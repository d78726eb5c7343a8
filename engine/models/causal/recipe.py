r"""How a language model is fine-tuned, as a value: AdamW with warm-up, a cosine and clipped gradients."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from engine.basics.values import Count, Number, short
from engine.models import adam
from engine.models.adam import BETAS, EPSILON
from engine.models.knobs import Knob
from engine.models.recipe import TrainingRecipe
from engine.models.rules import AdamW, Rule

ADAPTER_NAME = r"\.lora_[AB]\."
"""What the names of adapters' parameters have in common."""


class FineTuning(TrainingRecipe):
    """How a language model is fine-tuned by AdamW; the defaults are the paper's.

    rank: of the adapters; 0 trains all parameters of the model itself. epochs: 0 leaves the model as it is. warmup:
    the fraction of the steps in which the learning rate rises linearly, before it falls as a cosine. clip: the largest
    length of a step's gradient. context: the most tokens of a record. checkpoints: how many points of the training
    are stored, equally spaced, the last being its end; each stands for the steps since the one before.
    """

    rank: Annotated[Count, Field(ge=0)] = 16
    scaling: Annotated[Number, Field(gt=0)] = 32.0
    targets: str = "all-linear"
    learning_rate: Annotated[Number, Field(gt=0)] = 1e-4
    weight_decay: Annotated[Number, Field(ge=0)] = 0.0
    warmup: Annotated[Number, Field(ge=0, lt=1)] = 0.03
    clip: Annotated[Number, Field(gt=0)] = 1.0
    batch: Annotated[Count, Field(ge=1)] = 8
    epochs: Annotated[Count, Field(ge=0)] = 1
    context: Annotated[Count, Field(ge=8)] = 1024
    checkpoints: Annotated[Count, Field(ge=1)] = 4

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
        """The learning rate of step 0 … total − 1: linear warm-up, then a cosine down to zero."""
        warm = math.ceil(self.warmup * total)
        if step < warm:
            return self.learning_rate * (step + 1) / warm
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
        what = f"Adapters of rank {self.rank} trained" if self.rank else "All parameters trained"
        decay = f", weight decay {short(self.weight_decay)}" if self.weight_decay else ""
        return (f"{what} for {self.epochs:,} epochs by AdamW in batches of {self.batch:,}, learning rate "
                f"{short(self.learning_rate)} with warm-up and a cosine{decay}{self.precision_clause}.")
