r"""The registry of behaviors, and how a user adds an own one."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry
from engine.question.behavior import Behavior, Readout, Reads
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.question.token_behaviors import TOKEN_BEHAVIORS
from engine.question.worded_behaviors import worded


class Behaviors(Registry[Behavior]):
    """The registered behaviors by name, and those that a name spells out (`engine.question.worded`).

    What is registered alone is listed and counted.
    """

    def __getitem__(self, name: str) -> Behavior:
        spelled = worded(name) if isinstance(name, str) and not super().__contains__(name) else None
        return super().__getitem__(name) if spelled is None else spelled

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and worded(name) is not None)


BEHAVIORS = Behaviors("behavior", (*CLASS_BEHAVIORS, *TOKEN_BEHAVIORS))


def reading(reads: Reads) -> tuple[str, ...]:
    """The names of the registered behaviors that are read off class logits, off tokens, or off targets."""
    return tuple(name for name, behavior in BEHAVIORS.items() if behavior.fits(reads))


def autograd_signal(value: Readout) -> Readout:
    """s_B of any differentiable readout by reverse mode: (..., C), one row an example.

    Valid because `value` treats examples independently, so the gradient of the sum splits by row.
    """

    def signal(logits: Tensor, labels: Tensor) -> Tensor:
        leaf = logits.detach().requires_grad_(True)
        with torch.enable_grad():
            total = value(leaf, labels).sum()
        if not total.requires_grad:
            raise InvalidInput("This behavior has no gradient; register it with `differentiable=False`.")
        return torch.autograd.grad(total, leaf)[0]

    return signal


def register_behavior(name: str, value: Readout, *, title: str | None = None, formula: str | None = None,
                      clause: str | None = None, differentiable: bool = True, replace: bool = False) -> Behavior:
    """Register a user's own B(logits, labels) under `name`; it then works in every specification.

    The function with its closure and the globals that it names is part of the specification's digest, so that two
    different functions of one name are never taken for the same run.

    It is known to this process alone, and runs of the queue, which a worker computes, refuse it, unless the function
    is written in a module that `WHICHFLUENCE_PLUGINS` names and that registers it when it is imported. Such a module
    may be imported again: what it registers then replaces what it had registered.

    Args:
        name: by which specifications name it.
        value: (logits (…, C), labels (…)) -> (…); it must treat examples independently. Its gradient is taken by
            autograd.
        title: what charts and tables call it; the name by default.
        formula: in LaTeX, for pages.
        clause: what stands for it in a question: *by how much would* … *change?*
        differentiable: whether it has a gradient; without one it exists only where T is computed exactly.
        replace: whether it may take the place of another behavior of this name.

    Raises:
        InvalidInput: for a name that is taken, and a function that fails, returns another shape or lacks its gradient.

    >>> import whichfluence as wf
    >>> behavior = wf.register_behavior("largest_logit", lambda logits, labels: logits.amax(-1))
    >>> "largest_logit" in set(wf.behaviors().name)
    True
    """
    draw = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(2, 3, 4, dtype=torch.float64, generator=draw), torch.zeros(2, 3, dtype=torch.long)
    _try(name, value, logits, labels, differentiable)
    behavior = Behavior(
        name, title or name.replace("_", " "), formula or rf"\mathrm{{{name.replace('_', ' ')}}}(q;\theta)",
        clause or f"the behavior “{title or name}” at the query", value,
        autograd_signal(value) if differentiable else None, own=True)
    same_plugin = name in BEHAVIORS and behavior.plugin != "" and BEHAVIORS[name].plugin == behavior.plugin
    return BEHAVIORS.add(name, behavior, replace=replace or same_plugin)


def _try(name: str, value: Readout, logits: Tensor, labels: Tensor, differentiable: bool) -> None:
    """Refuse a readout that fails, returns another shape or type, or lacks the gradient it promises."""
    try:
        values = value(logits, labels)
        shape, floating = tuple(values.shape), values.is_floating_point()
    except Exception as error:
        raise InvalidInput(f"The behavior `{name}` fails on logits of shape (2, 3, 4): {error}.") from error
    if shape != (2, 3):
        raise InvalidInput(f"The behavior `{name}` returned shape {shape} for logits of shape (2, 3, 4); "
                           "return one number per example, here (2, 3).")
    if not floating:
        raise InvalidInput(f"The behavior `{name}` returned {values.dtype}; return floats, e.g. `.to(logits.dtype)`.")
    if differentiable:
        autograd_signal(value)(logits, labels)
