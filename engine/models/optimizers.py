"""The optimizers whose steps can be replayed and differentiated. A new one is one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from engine.models.rules import AdamW, Momentum, Rule

Options = Mapping[str, Any]
"""Of a parameter group, as torch holds them, without the learning rate."""
ARITHMETIC = ("foreach", "fused", "capturable", "differentiable")
"""Options that choose between kernels for the same formula."""
UNREAD = ("params", "lr", "initial_lr")


@dataclass(frozen=True)
class OptimizerKind:
    """An optimizer of torch. rule: its formula with options and the length that gradients are cut to.

    plain: options that have to be what they are here for the formula to hold. clips: whether the rule can cut.
    moments: the names of its state, in the order of the rule's. read: the options that the formula reads.
    """

    make: Callable[..., torch.optim.Optimizer]
    rule: Callable[[Options, float], Rule]
    plain: Mapping[str, Any]
    read: tuple[str, ...]
    clips: bool = False

    def build(self, parameters: Iterable[nn.Parameter], rate: float, options: Options) -> torch.optim.Optimizer:
        """By its options, with the kernels that they name."""
        given = {name: value for name, value in options.items() if name in (*self.read, "foreach", "fused")}
        return self.make(parameters, lr=rate, **given)

    def unfit(self, options: Options, clip: float | None) -> str:
        """Which of the options has no formula here, in words; empty where none."""
        for name, value in self.plain.items():
            if name in options and options[name] != value:
                return f"its option `{name}` is {options[name]}"
        known = {*self.plain, *self.read, *ARITHMETIC, *UNREAD}
        unknown = sorted(name for name in options if name not in known)
        if unknown:
            return f"its option `{unknown[0]}` is not known here"
        return "its gradients are clipped, which only Adam and AdamW are differentiated with" if (
            clip is not None and not self.clips) else ""


def _adam(make: Callable[..., torch.optim.Optimizer], decoupled: bool) -> OptimizerKind:
    def rule(options: Options, clip: float) -> Rule:
        first, second = options["betas"]
        return AdamW(options["weight_decay"], clip, (first, second), options["eps"], decoupled)

    plain = {"amsgrad": False, "maximize": False, "decoupled_weight_decay": decoupled}
    return OptimizerKind(make, rule, plain, ("betas", "eps", "weight_decay"), clips=True)


KINDS: dict[str, OptimizerKind] = {
    "SGD": OptimizerKind(torch.optim.SGD, lambda options, clip: Momentum(
        options["momentum"], options["weight_decay"], options.get("nesterov", False)),
        {"dampening": 0, "maximize": False}, ("momentum", "weight_decay", "nesterov")),
    "Adam": _adam(torch.optim.Adam, False),
    "AdamW": _adam(torch.optim.AdamW, True),
}


def unfit(name: str, options: Options, clip: float | None) -> str:
    """Why the steps of an optimizer, by the name of its kind, cannot be replayed: the end of a sentence; empty where
    they can."""
    kind = KINDS.get(name)
    if kind is None:
        return (f"its optimizer is `{name[:100]}`, whose update rule is not supported here; those of torch's SGD, Adam "
                "and AdamW are")
    if why := kind.unfit(options, clip):
        return f"of its optimizer {why}"
    try:
        kind.build([nn.Parameter(torch.zeros(1))], 0.0, options)
        kind.rule(options, 1.0)
    except (KeyError, TypeError, ValueError, RuntimeError):
        return "the options of its optimizer are not those of torch"
    return ""


def penalty(name: str, options: Options) -> float:
    """λ of the penalty that the steps of an optimizer descend by, whether or not they can be replayed; 0 for one of
    which no steps are known."""
    kind = KINDS.get(name)
    try:
        return float(kind.rule(options, 1.0).penalty) if kind else 0.0
    except (KeyError, TypeError, ValueError):
        return 0.0


def kind_of(optimizer: torch.optim.Optimizer) -> str:
    """The name under which its kind is recorded; of a class of somebody else's that is no entry here."""
    known = next((name for name, kind in KINDS.items() if type(optimizer) is kind.make), "")
    return known or f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"


def options_of(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """The options of every parameter group, as JSON holds them; of what it does not hold, how it is written."""
    return [{name: _plain(value) for name, value in group.items() if name not in UNREAD}
            for group in optimizer.param_groups]


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)[:100]
