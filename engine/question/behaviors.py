r"""Behaviors B(q; θ): the scalar read off the model at a query, as a function of logits and label.

A behavior is a pure function of the logits f(q) ∈ R^C and the label y. Larger is better for every
built-in one, so that positive influence always means "helps". The behavior signal
s_B = ∂B/∂f is analytic where it exists (paper, Section 3, the paragraph before Eq. 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics import plugins
from engine.basics.errors import InvalidInput
from engine.basics.fingerprint import fingerprint
from engine.basics.registry import Registry

Readout = Callable[[Tensor, Tensor], Tensor]
Difference = Callable[[Tensor, Tensor, Tensor], Tensor]

LARGEST = 80.0
"""Up to which a change is exponentiated as it is."""


@dataclass(frozen=True)
class Behavior:
    """A named readout.

    value: (logits (..., C), labels (...)) -> (...)
    signal: the same arguments -> (..., C), ∂value/∂logits; None where no gradient exists.
    clause: how the behavior is spoken of inside an English question.
    difference: (change (..., C), logits, labels that broadcast against it) -> (...), value(logits + change) −
    value(logits) in closed form, so that a small change is not lost between two nearly equal values; or None.
    own: whether a user registered it in this process.
    """

    name: str
    title: str
    formula: str
    clause: str
    value: Readout
    signal: Readout | None
    difference: Difference | None = None
    own: bool = False

    @property
    def fingerprint(self) -> str:
        """What tells a user's own readout from others of its name, as its code, closure and globals are now."""
        return fingerprint(self.value) if self.own else ""

    @property
    def plugin(self) -> str:
        """The plugin in which a user's own readout is written, which a worker imports too; empty where it is none."""
        return plugins.holding(self.value) if self.own else ""

    @property
    def differentiable(self) -> bool:
        return self.signal is not None

    def changed(self, change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
        """B(f + δ) − B(f) of changes δ (..., C) at logits f and labels that broadcast against them: (...)."""
        if self.difference is not None:
            return self.difference(change, logits, labels)
        return self.value(logits + change, labels.expand(change.shape[:-1])) - self.value(logits, labels)


def _target(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.gather(-1, labels.expand(logits.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def _others(logits: Tensor, labels: Tensor) -> Tensor:
    """The logits with the target class masked out by −∞."""
    return logits.scatter(-1, labels.unsqueeze(-1), -math.inf)


def _one_hot(logits: Tensor, labels: Tensor) -> Tensor:
    return torch.zeros_like(logits).scatter_(-1, labels.unsqueeze(-1), 1.0)


def query_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """B = −cross-entropy = f_y − logsumexp_j f_j."""
    return _target(logits, labels) - logits.logsumexp(-1)


def query_loss_signal(logits: Tensor, labels: Tensor) -> Tensor:
    """s_B = e_y − p."""
    return _one_hot(logits, labels) - logits.softmax(-1)


def query_loss_difference(change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """−log Σ_j p_j e^{δ_j − δ_y}, p at the logits before the change."""
    return -_log_mean_exp(change - _target(change, labels).unsqueeze(-1), logits)


def _log_mean_exp(change: Tensor, logits: Tensor) -> Tensor:
    """log Σ_j p_j e^{δ_j} of changes (..., C), p = softmax(logits).

    Near 1 the sum is log(1 + Σ_j p_j (e^{δ_j} − 1)), which keeps the digits of the smallest changes.
    """
    gained = (logits.softmax(-1) * change.clamp(max=LARGEST).expm1()).sum(-1)
    near = (gained > -0.5) & (change <= LARGEST).all(-1)
    found = gained.clamp(min=-0.5).log1p()
    return found if near.all() else torch.where(near, found, (logits.log_softmax(-1) + change).logsumexp(-1))


def query_logit(logits: Tensor, labels: Tensor) -> Tensor:
    """B = f_y."""
    return _target(logits, labels)


def query_logit_signal(logits: Tensor, labels: Tensor) -> Tensor:
    """s_B = e_y."""
    return _one_hot(logits, labels)


def query_logit_difference(change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """δ_y."""
    return _target(change, labels)


def soft_margin(logits: Tensor, labels: Tensor) -> Tensor:
    """B = f_y − logsumexp_{j≠y} f_j, which is log(p_y / (1 − p_y))."""
    return _target(logits, labels) - _others(logits, labels).logsumexp(-1)


def soft_margin_signal(logits: Tensor, labels: Tensor) -> Tensor:
    """s_B = e_y − softmax over the classes other than y."""
    return _one_hot(logits, labels) - _others(logits, labels).softmax(-1)


def soft_margin_difference(change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """−log Σ_{j≠y} q_j e^{δ_j − δ_y}, q the softmax over the classes other than y."""
    return -_log_mean_exp(change - _target(change, labels).unsqueeze(-1), _others(logits, labels))


def hard_margin(logits: Tensor, labels: Tensor) -> Tensor:
    """B = f_y − max_{j≠y} f_j."""
    return _target(logits, labels) - _others(logits, labels).amax(-1)


def hard_margin_signal(logits: Tensor, labels: Tensor) -> Tensor:
    """s_B = e_y − e_{j*}, j* the strongest competing class (the first one at a tie)."""
    rival = _others(logits, labels).argmax(-1)
    return _one_hot(logits, labels) - _one_hot(logits, rival)


def hard_margin_difference(change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """δ_y − max_{j≠y} (f_j − f_{j*} + δ_j), f_{j*} the strongest competing logit before the change."""
    others = _others(logits, labels)
    return _target(change, labels) - (others - others.amax(-1, keepdim=True) + change).amax(-1)


def probability(logits: Tensor, labels: Tensor) -> Tensor:
    """B = p_y."""
    return _target(logits.softmax(-1), labels)


def probability_signal(logits: Tensor, labels: Tensor) -> Tensor:
    """s_B = p_y (e_y − p)."""
    p = logits.softmax(-1)
    return _target(p, labels).unsqueeze(-1) * (_one_hot(logits, labels) - p)


def probability_difference(change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """p_y (e^d − 1), d the change of log p_y."""
    return _target(logits.softmax(-1), labels) * query_loss_difference(change, logits, labels).expm1()


def correct(logits: Tensor, labels: Tensor) -> Tensor:
    """B = 1[argmax_j f_j = y]; it has no gradient."""
    return (logits.argmax(-1) == labels).to(logits.dtype)


BEHAVIORS: Registry[Behavior] = Registry("behavior")
for _behavior in (
    Behavior("query_loss", "query loss", r"-\ell(q;\theta)", "the log-likelihood of the query's label (minus its loss)",
             query_loss, query_loss_signal, query_loss_difference),
    Behavior("query_logit", "query logit", r"f_y(q;\theta)", "the logit of the query's label",
             query_logit, query_logit_signal, query_logit_difference),
    Behavior("soft_margin", "soft margin", r"f_y-\log\sum_{j\neq y}e^{f_j}",
             "the soft margin of the query's label over all other classes", soft_margin, soft_margin_signal,
             soft_margin_difference),
    Behavior("hard_margin", "hard margin", r"f_y-\max_{j\neq y}f_j",
             "the margin of the query's label over its strongest rival", hard_margin, hard_margin_signal,
             hard_margin_difference),
    Behavior("probability", "probability", r"p_y(q;\theta)", "the probability of the query's label",
             probability, probability_signal, probability_difference),
    Behavior("correct", "correct", r"\mathbf{1}[\arg\max_j f_j=y]", "whether the query is classified correctly",
             correct, None),
):
    BEHAVIORS.add(_behavior.name, _behavior)


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


def register_behavior(
    name: str,
    value: Readout,
    *,
    title: str | None = None,
    formula: str | None = None,
    clause: str | None = None,
    differentiable: bool = True,
    replace: bool = False,
) -> Behavior:
    """Register a user's own B(logits, labels) under `name`; it then works in every specification.

    `value` maps (logits (..., C), labels (...)) to (...) and must treat examples independently. Its
    gradient is taken by autograd. The function with its closure and the globals that it names is part of the
    specification's digest, so that two different functions of one name are never taken for the same run.

    It is known to this process alone, and runs of the queue, which a worker computes, refuse it, unless the function
    is written in a module that `WHICHFLUENCE_PLUGINS` names and that registers it when it is imported. Such a module
    may be imported again: what it registers then replaces what it had registered.
    """
    logits, labels = torch.randn(2, 3, 4, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.long)
    _try(name, value, logits, labels, differentiable)
    behavior = Behavior(
        name,
        title or name.replace("_", " "),
        formula or rf"\mathrm{{{name.replace('_', ' ')}}}(q;\theta)",
        clause or f"the behavior “{title or name}” at the query",
        value,
        autograd_signal(value) if differentiable else None,
        own=True,
    )
    again = name in BEHAVIORS and behavior.plugin != "" and BEHAVIORS[name].plugin == behavior.plugin
    return BEHAVIORS.add(name, behavior, replace=replace or again)


def _try(name: str, value: Readout, logits: Tensor, labels: Tensor, differentiable: bool) -> None:
    """Refuse a readout that fails, returns another shape or type, or lacks the gradient it promises."""
    try:
        found = value(logits, labels)
        shape, floating = tuple(found.shape), found.is_floating_point()
    except Exception as error:
        raise InvalidInput(f"The behavior `{name}` fails on logits of shape (2, 3, 4): {error}.") from error
    if shape != (2, 3):
        raise InvalidInput(
            f"The behavior `{name}` returned shape {shape} for logits of shape (2, 3, 4); "
            "return one number an example, here (2, 3)."
        )
    if not floating:
        raise InvalidInput(f"The behavior `{name}` returned {found.dtype}; return floats, e.g. `.to(logits.dtype)`.")
    if differentiable:
        autograd_signal(value)(logits, labels)
