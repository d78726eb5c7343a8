r"""What Adam keeps of a training, and the update that it makes on a gradient out of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

BETAS, EPSILON = (0.9, 0.999), 1e-8
FIRST, SECOND, STEPS = "first|", "second|", "steps|"
"""Before the names of moments in a checkpoint, and the name of their number of steps."""


def adam_update(gradients: Tensor, first: Tensor, second: Tensor, steps: int) -> Tensor:
    r"""Γ = m̂/(√v̂ + ε), the update that Adam makes on a gradient (Kingma and Ba 2015), for gradients (b, …).

    m̂ = (β₁ m + (1 − β₁) ∇)/(1 − β₁ᵗ) and v̂ = (β₂ v + (1 − β₂) ∇²)/(1 − β₂ᵗ), with the moments after t − 1 `steps`.
    """
    whole = 1 - BETAS[0] ** (steps + 1)
    moved = torch.add(first * (BETAS[0] / whole), gradients, alpha=(1 - BETAS[0]) / whole)
    return moved.div_(adam_spread(gradients, second, steps))


def adam_spread(gradients: Tensor, second: Tensor, steps: int) -> Tensor:
    """√v̂ + ε, as in `adam_update`."""
    whole = 1 - BETAS[1] ** (steps + 1)
    spread = torch.addcmul(second * (BETAS[1] / whole), gradients, gradients, value=(1 - BETAS[1]) / whole)
    return spread.sqrt_().add_(EPSILON)


def known(options: Mapping[str, Any]) -> bool:
    """Whether `adam_update` has the constants of an optimizer's options, as JSON holds them."""
    return (options.get("betas"), options.get("eps")) == (list(BETAS), EPSILON)


def moments(optimizer: torch.optim.Optimizer, named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
    """First and second moments of the trained parameters, and how many steps they saw, by names of a checkpoint."""
    saved: dict[str, Tensor] = {}
    for name, parameter in named:
        if parameter in optimizer.state:
            state = optimizer.state[parameter]
            saved |= {FIRST + name: state["exp_avg"], SECOND + name: state["exp_avg_sq"], STEPS: state["step"]}
    return {name: value.detach().to("cpu", copy=True) for name, value in saved.items()}


def no_moments(named: Iterable[tuple[str, nn.Parameter]]) -> dict[str, Tensor]:
    """The same of an optimizer that has seen no step."""
    zeros = {name: torch.zeros_like(own, device="cpu") for name, own in named if own.requires_grad}
    return {STEPS: torch.tensor(0.0), **{FIRST + name: value for name, value in zeros.items()},
            **{SECOND + name: value.clone() for name, value in zeros.items()}}
