r"""Logits as the product that they are, of which a pass computes what is read.

With h (d,) the state that predicts a target y and W (V, d) the head,

    log p = W_y h − log Σ_v exp(W_v h),        ∂ log p/∂h = (1 − p_y) W_y − Σ_{v≠y} p_v W_v,

where y is left out of the sum: of a certain answer the slope is small, and as a difference of W_y and nearly the same
it would be what bfloat16 rounds off. The probabilities of V tokens are needed for a chunk of targets at a time, and
never again: the derivative of log p (d numbers instead of V) is taken with its value. Heads are frozen here, and have
no derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad
from torch.autograd.function import once_differentiable
from torch.utils.weak import WeakTensorKeyDictionary

CHUNK = 64
"""Targets at a time on a CPU: enough for products at full speed, and few enough for memory that is used again."""
WIDE_CHUNK = 2048
"""On other devices, which want few and large operations: 600 MB for a vocabulary of 49,152."""


@dataclass(frozen=True)
class Unread:
    """states (b, R, d): of the positions that predict the last R targets. weight: of the head, (V, d). Products with
    all of it are of bfloat16. targets (b, R): their tokens. wanted (b, R): of which targets log p may be read."""

    states: Tensor
    weight: Tensor
    targets: Tensor
    wanted: Tensor

    @cached_property
    def log_probabilities(self) -> Tensor:
        """log p of the targets that are wanted, and 0 of the others: (b, R) float32. Several behaviors read it."""
        states = self.states[self.wanted]
        sloped = states.requires_grad or forward_ad.unpack_dual(states).tangent is not None
        log_p: Any = _LogProbabilities.apply(states, narrow(self.weight), self.targets[self.wanted], sloped)
        return torch.zeros(self.targets.shape, device=log_p.device).masked_scatter(self.wanted, log_p)

    def at(self, positions: Tensor, tokens: Tensor) -> Tensor:
        """The logits of some tokens (b, C) where one target of each record is predicted, columns `positions` (b,)."""
        states = self.states[torch.arange(len(positions), device=positions.device), positions]
        return torch.einsum("bd,bcd->bc", states.to(self.weight.dtype), self.weight[tokens])


def narrow(weight: Tensor) -> Tensor:
    """The weight in bfloat16, in memory that is used again: to ask for new memory takes longer than to round."""
    if weight not in _ROOM:
        _ROOM[weight] = torch.empty_like(weight, dtype=torch.bfloat16, requires_grad=False)
    return _ROOM[weight].copy_(weight.detach())


_ROOM: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


class _LogProbabilities(Function):
    """states (M, d), weight (V, d), targets (M,), whether a derivative is needed -> log p (M,)."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, targets: Tensor, sloped: bool) -> Tensor:
        log_p, slopes = states.new_empty(len(states), dtype=torch.float32), torch.empty_like(states)
        chunk = CHUNK if states.device.type == "cpu" else WIDE_CHUNK
        room = min(chunk, len(states)), len(weight)
        products, logits = weight.new_empty(room), states.new_empty(room, dtype=torch.float32)
        for start in range(0, len(states), chunk):
            own = slice(start, start + chunk)
            target = targets[own]
            z, exact = products[:len(target)], logits[:len(target)]
            exact.copy_(torch.mm(states[own].to(weight.dtype), weight.T, out=z))
            exact -= exact.amax(1, keepdim=True)
            stated = exact.gather(1, target[:, None])
            others = exact.exp_().scatter_(1, target[:, None], 0).sum(1, keepdim=True)
            total = stated.exp() + others
            log_p[own] = (stated - total.log())[:, 0]
            if sloped:
                slopes[own] = (others * weight[target] - torch.mm(z.copy_(exact), weight)) / total
        ctx.save_for_backward(slopes)
        ctx.save_for_forward(slopes)
        return log_p

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        slopes, = ctx.saved_tensors
        return gradient[:, None] * slopes, None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: Any) -> Tensor:
        slopes, = ctx.saved_tensors
        return (tangent * slopes).sum(1)
