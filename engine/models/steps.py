r"""A training as a sequence of pure steps: (θ_t, s_t) -> (θ_{t+1}, s_{t+1}) on batch M_t at rate η_t.

What decides a training (`engine.models.training.Training`) is fixed: its initial weights, its batches with their order,
its rates, augmentation and masks of dropout. What may vary are the weights w of the examples, those of the training to
begin with,

    g_t(θ, w) = (1/|M_t|) Σ_{i ∈ M_t} w_i ∇ℓ(z_i; θ)

(of several micro-batches the sum over them, each by its weight) under a fixed denominator, so that the run is a
function of w that can be differentiated. Passes are in the precision of the training throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from engine.basics.errors import Undifferentiable
from engine.models.network import Network
from engine.models.randomness import own_randomness, seed_generators
from engine.models.recipe import MicroBatch
from engine.models.rules import Moment
from engine.models.training import Training


@dataclass(frozen=True)
class Step:
    """One step: the rows M_t (b,), the micro-batches that they consist of, in order, the learning rate as the rule
    takes it, its number from 1, and its epoch from 0."""

    parts: tuple[MicroBatch, ...]
    rate: Any
    count: int
    epoch: int

    @cached_property
    def rows(self) -> Tensor:
        return torch.cat([part.rows for part in self.parts])

    @cached_property
    def ratios(self) -> Tensor | None:
        """By which ∂g_t/∂w_i differs from ∇ℓ(z_i; θ)/|M_t|, (b,); None where it does not."""
        if all(part.weight is None for part in self.parts):
            return None
        return torch.cat([torch.full(part.rows.shape, (part.weight or 0.0) * len(self.rows) / len(part.rows),
                                     dtype=torch.float64, device=part.rows.device) for part in self.parts])


class Steps:
    """The steps of a training, with θ as one flat vector (P,) of what its recipe trains.

    Raises `Undifferentiable` for a module whose buffers move while it is trained, such as the statistics of BatchNorm:
    they would be a part of the model that no step here updates. Use it within `own_randomness`.
    """

    def __init__(self, training: Training) -> None:
        self.training, recipe = training, training.recipe
        self.rule = recipe.rule
        with own_randomness(training.device):
            module = training.start()
            self.layout = recipe.layout(module, training.x)
            _refuse_moving_buffers(module, self.layout(training.x[:2]))
        self.network = Network(module, recipe.selection, device=training.device, dtype=training.precision)
        self.network.module.train()
        self.start = self.network.theta
        per_epoch = training.per_epoch
        self.all = [Step(training.micro_batches(rows, epoch, number),
                         self.rule.rate_of(recipe.rates_at(epoch * per_epoch + number, per_epoch)),
                         epoch * per_epoch + number + 1, epoch)
                    for epoch, batches in enumerate(training.batches()) for number, rows in enumerate(batches)]

    def __len__(self) -> int:
        return len(self.all)

    @property
    def beginning(self) -> Moment:
        """θ and the optimizer's state before the first step."""
        return self.start, *self.rule.fresh(self.start)

    def inputs(self, rows: Tensor, epoch: int) -> Tensor:
        """Those of rows (b,), (b, …), as an epoch reads them."""
        return self.layout(self.training.inputs(rows, epoch))

    def losses(self, values: Mapping[str, Tensor], step: Step) -> Tensor:
        """ℓ(z_i; θ) of the rows of a step, (b,), for θ as one tensor a name; differentiable."""
        training, logits = self.training, []
        for part in step.parts:
            seed_generators(training.device, part.randomness)
            inputs = self.inputs(part.rows, step.epoch)
            logits.append(functional_call(self.network.module, dict(values), (inputs,)))
        return training.loss(torch.cat(logits), training.y[step.rows])

    def mean(self, each: Tensor, step: Step) -> Tensor:
        """What a step descends on, of w_i ℓ_i (b,): their mean, or that of every micro-batch by its weight, added."""
        return (each if step.ratios is None else step.ratios.to(each) * each).mean()

    def weights(self, step: Step) -> Tensor:
        """w_i of the rows of a step, (b,)."""
        given = self.training.weights
        return self.start.new_ones(len(step.rows)) if given is None else given[step.rows].to(self.start)

    def gradient(self, theta: Tensor, step: Step) -> Tensor:
        """g_t(θ, w), (P,)."""
        values = {name: part.detach().requires_grad_() for name, part in self.network.unflatten(theta).items()}
        with torch.enable_grad():
            value = self.mean(self.weights(step) * self.losses(values, step), step)
            slopes = torch.autograd.grad(value, list(values.values()), materialize_grads=True)
        return self.network.flatten(dict(zip(values, slopes, strict=True)))

    def advance(self, moment: Moment, step: Step, gradient: Tensor | None = None) -> Moment:
        """θ and state after a step; gradient: g_t where it is known."""
        theta, *state = moment
        slope = self.gradient(theta, step) if gradient is None else gradient
        moved, further = self.rule.step(theta, tuple(state), slope, step.rate, step.count)
        return moved, *further

    def trained(self, theta: Tensor) -> Network:
        """The network at θ, in evaluation mode."""
        return self.network.moved(theta)


def _refuse_moving_buffers(module: nn.Module, x: Tensor) -> None:
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    with torch.no_grad():
        module(x)
    moved = [name for name, buffer in module.named_buffers() if not torch.equal(buffer, before[name])]
    if moved:
        raise Undifferentiable(f"Training this model also changes `{moved[0]}`, which is not a parameter, so its "
                               "training cannot be differentiated; use a model without batch statistics (GroupNorm or "
                               "LayerNorm instead of BatchNorm), or the process `retrain`.")
