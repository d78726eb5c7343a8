"""The optimizers whose steps can be replayed and differentiated. A new one is one entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import nn

from engine.basics.values import Value
from engine.models.grouped import Grouped, Part
from engine.models.muon import Muon
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
    read: the options that the formula reads. of_matrix: the formula with options and the shape of a parameter, for one
    that treats every matrix by itself.
    """

    make: Callable[..., torch.optim.Optimizer]
    rule: Callable[[Options, float], Rule]
    plain: Mapping[str, Any]
    read: tuple[str, ...]
    clips: bool = False
    of_matrix: Callable[[Options, torch.Size], Rule] | None = None

    def build(self, parameters: Iterable[nn.Parameter], rate: float, options: Options) -> torch.optim.Optimizer:
        """By its options, with the kernels that they name."""
        given = {name: value for name, value in options.items() if name in (*self.read, "foreach", "fused")}
        return self.make(parameters, lr=rate, **given)

    def unfit(self, options: Options) -> str:
        """Which of the options has no formula here, in words; empty where none."""
        for name, value in self.plain.items():
            if name in options and options[name] != value:
                return f"the option `{name}` of its optimizer is {options[name]}"
        known = {*self.plain, *self.read, *ARITHMETIC, *UNREAD}
        unknown = sorted(name for name in options if name not in known)
        return f"its optimizer has the option `{unknown[0]}`, which is not known here" if unknown else ""


def _adam(make: Callable[..., torch.optim.Optimizer], decoupled: bool) -> OptimizerKind:
    def rule(options: Options, clip: float) -> Rule:
        first, second = options["betas"]
        return AdamW(options["weight_decay"], clip, (first, second), options["eps"], decoupled)

    plain = {"amsgrad": False, "maximize": False, "decoupled_weight_decay": decoupled}
    return OptimizerKind(make, rule, plain, ("betas", "eps", "weight_decay"), clips=True)


def _muon(options: Options, shape: torch.Size) -> Rule:
    return Muon((shape[0], shape[1]), options["momentum"], options["weight_decay"], options["nesterov"],
                tuple(options["ns_coefficients"]), options["eps"], options["ns_steps"],
                options["adjust_lr_fn"] or "original")


KINDS: dict[str, OptimizerKind] = {
    "SGD": OptimizerKind(torch.optim.SGD, lambda options, clip: Momentum(
        options["momentum"], options["weight_decay"], options.get("nesterov", False)),
        {"dampening": 0, "maximize": False}, ("momentum", "weight_decay", "nesterov")),
    "Adam": _adam(torch.optim.Adam, False),
    "AdamW": _adam(torch.optim.AdamW, True),
    "Muon": OptimizerKind(
        torch.optim.Muon, lambda options, clip: _muon(options, torch.Size((1, 1))), {},
        ("momentum", "weight_decay", "nesterov", "ns_coefficients", "eps", "ns_steps", "adjust_lr_fn"),
        of_matrix=_muon),
}


class OptimizerGroup(Value):
    """A group of parameters, by their names: the kind of their optimizer with its options, without the rate."""

    optimizer: str
    options: dict[str, Any]
    trained: tuple[str, ...]


class Together(torch.optim.Optimizer):
    """Optimizers of disjoint parameters as one, whose groups are those of all, in order."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        groups = [group for optimizer in optimizers for group in optimizer.param_groups]
        super().__init__([{**group} for group in groups], {})
        self.param_groups, self.optimizers = groups, optimizers
        for optimizer in optimizers:
            optimizer.state = self.state

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for optimizer in self.optimizers:
            optimizer.step()


def build_together(groups: Sequence[OptimizerGroup], parameters: Mapping[str, nn.Parameter]) -> torch.optim.Optimizer:
    """One optimizer of all groups, for parameters by name; their rates are set before every step."""
    return Together([KINDS[group.optimizer].build([parameters[name] for name in group.trained], 0.0, group.options)
                     for group in groups])


def rule_of(groups: Sequence[OptimizerGroup], shapes: Mapping[str, torch.Size], clip: float) -> Rule:
    """What it does, for parameters of these shapes one after the other in θ."""
    begins, parts = dict(zip(shapes, accumulate((shape.numel() for shape in shapes.values()), initial=0),
                             strict=False)), []
    for number, group in enumerate(groups):
        kind = KINDS[group.optimizer]
        places = [torch.arange(begins[name], begins[name] + shapes[name].numel()) for name in group.trained]
        if kind.of_matrix:
            parts += [Part(kind.of_matrix(group.options, shapes[name]), place, number)
                      for name, place in zip(group.trained, places, strict=True)]
        else:
            parts.append(Part(kind.rule(group.options, math.inf), torch.cat(places), number))
    return Grouped(parts, clip)


def unfit(name: str, options: Options) -> str:
    """Why the steps of an optimizer, by the name of its kind, cannot be replayed: the end of a sentence; empty where
    they can."""
    kind = KINDS.get(name)
    if kind is None:
        return (f"its optimizer is `{name[:100]}`, whose update rule is not supported here; those of torch's SGD, "
                "Adam, AdamW and Muon are")
    if why := kind.unfit(options):
        return why
    try:
        kind.build([nn.Parameter(torch.zeros(1, 1))], 0.0, options)
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
