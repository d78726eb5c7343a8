r"""log p_y of logits, with derivatives that keep their digits however sure a model is.

    log p_y = f_y − log Σ_j e^{f_j},       ∂/∂f = e_y − p,       ∂²/∂f² = −(diag p − p pᵀ)

Nothing near 1 is subtracted from 1. With m the most probable class,

    log p_y = f_y − f_m − log(1 + Σ_{j≠m} e^{f_j − f_m}),       1 − p_y = Σ_{j≠y} p_j,
    (diag p − p pᵀ) v = p ∘ (w − Σ_j p_j w_j),   w = v − v_m,

so that what is left of each is off by as many units of rounding as the largest |f_j − f_m| counts, which is what moving
the logits by their own last digit does. p_y − 1 in float32 is a multiple of 6e-8, and zero above log-odds of 17.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function

LEAST_DOUBT = 1e-6
"""Of a response that is certain to rounding, whose margin has no slope."""


def log_likelihood(logits: Tensor, labels: Tensor) -> Tensor:
    """log p_y: (..., C), (...) -> (...).

    Differentiable by reverse mode as often as one likes, with forward mode once on top, and under `torch.func`; torch
    does not take forward mode twice through an operation that brings its own derivative.
    """
    return _LogLikelihood.apply(logits, labels)


def slope(logits: Tensor, labels: Tensor) -> Tensor:
    """e_y − p, ∂ log p_y/∂f: (..., C), (...) -> (..., C)."""
    return slope_at(logits.softmax(-1), labels)


def slope_at(p: Tensor, labels: Tensor) -> Tensor:
    """The same of probabilities p."""
    index = labels.unsqueeze(-1)
    others = p.scatter(-1, index, 0.0)
    return (-others).scatter(-1, index, others.sum(-1, keepdim=True))


def doubt(logits: Tensor, labels: Tensor) -> Tensor:
    """1 − p_y: (..., C), (...) -> (...)."""
    return logits.softmax(-1).scatter(-1, labels.unsqueeze(-1), 0.0).sum(-1)


def bent(logits: Tensor, vectors: Tensor) -> Tensor:
    """(diag p − p pᵀ) v of logits and vectors (..., C): (..., C)."""
    p = logits.softmax(-1)
    w = vectors - vectors.take_along_dim(p.argmax(-1, keepdim=True), -1)
    return p * (w - (p * w).sum(-1, keepdim=True))


class _LogLikelihood(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, labels: Tensor) -> Tensor:
        top, argmax = logits.max(-1, keepdim=True)
        others = (logits - top).exp().scatter(-1, argmax, 0.0).sum(-1)
        return (logits.gather(-1, labels.unsqueeze(-1)) - top).squeeze(-1) - others.log1p()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        logits, labels = ctx.saved_tensors
        return gradient.unsqueeze(-1) * _Slope.apply(logits, labels), None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _labels: None) -> Tensor:
        logits, labels = ctx.saved_tensors
        return (tangent * _Slope.apply(logits, labels)).sum(-1)


class _Slope(Function):
    """`slope`, whose derivative along v is −`bent`, as is its transpose."""

    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, labels: Tensor) -> Tensor:
        return slope(logits, labels)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -bent(ctx.saved_tensors[0], gradient), None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, _labels: None) -> Tensor:
        return -bent(ctx.saved_tensors[0], tangent)
