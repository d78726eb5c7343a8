r"""Behaviors of a classifier, as functions of its logits f(q) ∈ R^C and the label y of the query."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from engine.question.behavior import Behavior
from engine.question.likelihood import log_likelihood, slope

LARGEST = 80.0
"""Up to which a change is exponentiated as it is."""


def _target(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.gather(-1, labels.expand(logits.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def _others(logits: Tensor, labels: Tensor) -> Tensor:
    """The logits with the target class masked out by −∞."""
    return logits.scatter(-1, labels.unsqueeze(-1), -math.inf)


def _one_hot(logits: Tensor, labels: Tensor) -> Tensor:
    return torch.zeros_like(logits).scatter_(-1, labels.unsqueeze(-1), 1.0)


def query_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """B = −cross-entropy = f_y − logsumexp_j f_j."""
    return log_likelihood(logits, labels)


def query_loss_signal(logits: Tensor, labels: Tensor) -> Tensor:
    """s_B = e_y − p, with 1 − p_y as the sum of the others."""
    return slope(logits, labels)


def query_loss_difference(change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """−log Σ_j p_j e^{δ_j − δ_y}, p at the logits before the change."""
    return -_log_mean_exp(change - _target(change, labels).unsqueeze(-1), logits)


def _log_mean_exp(change: Tensor, logits: Tensor) -> Tensor:
    """log Σ_j p_j e^{δ_j} of changes (..., C), p = softmax(logits).

    Near 1 the sum is log(1 + Σ_j p_j (e^{δ_j} − 1)), which keeps the digits of the smallest changes.
    """
    gained = (logits.softmax(-1) * change.clamp(max=LARGEST).expm1()).sum(-1)
    near = (gained > -0.5) & (change <= LARGEST).all(-1)
    log_mean = gained.clamp(min=-0.5).log1p()
    if near.all():
        return log_mean
    far = logits.log_softmax(-1).expand(change.shape)[~near] + change[~near]
    return log_mean.masked_scatter(~near, far.logsumexp(-1))


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
    return probability(logits, labels).unsqueeze(-1) * query_loss_signal(logits, labels)


def probability_difference(change: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """p_y (e^d − 1), d the change of log p_y."""
    return _target(logits.softmax(-1), labels) * query_loss_difference(change, logits, labels).expm1()


def correct(logits: Tensor, labels: Tensor) -> Tensor:
    """B = 1[argmax_j f_j = y]; it has no gradient."""
    return (logits.argmax(-1) == labels).to(logits.dtype)


CLASS_BEHAVIORS = (
    Behavior("query_loss", "query loss", r"-\ell(q;\theta)", "the log-likelihood of the query's label (minus its loss)",
             query_loss, query_loss_signal, query_loss_difference, steepest=1.0, quantity="log-likelihood",
             unit="nats", minus="query loss"),
    Behavior("query_logit", "query logit", r"f_y(q;\theta)", "the logit of the query's label",
             query_logit, query_logit_signal, query_logit_difference, steepest=1.0),
    Behavior("soft_margin", "soft margin", r"f_y-\log\sum_{j\neq y}e^{f_j}",
             "the soft margin of the query's label over all other classes", soft_margin, soft_margin_signal,
             soft_margin_difference, steepest=1.0),
    Behavior("hard_margin", "hard margin", r"f_y-\max_{j\neq y}f_j",
             "the margin of the query's label over its strongest rival", hard_margin, hard_margin_signal,
             hard_margin_difference, steepest=1.0),
    Behavior("probability", "probability", r"p_y(q;\theta)", "the probability of the query's label",
             probability, probability_signal, probability_difference, steepest=0.25,
             quantity="probability of the label"),
    Behavior("correct", "correct", r"\mathbf{1}[\arg\max_j f_j=y]", "whether the query is classified correctly",
             correct, None, quantity="correctness (1 right, 0 wrong)"),
)
