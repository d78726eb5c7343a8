"""Models of transformers in float64, where differences are computed: what their code there leaves to torch's default
precision, or has no kernel for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class WideConstants(TorchFunctionMode):
    """Within it a constant of no stated precision that float32 cannot hold is made in float64. Of this thread alone,
    unlike torch's default precision."""

    def __torch_function__(self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        given = dict(kwargs or {})
        if func is torch.full and abs(args[1]) > torch.finfo(torch.float32).max:
            given.setdefault("dtype", torch.float64)
        return func(*args, **given)


def widen(model: Any) -> None:
    """Let a model in float64 compute there: experts run one after another, since what runs all at once has no such
    precision, and XGLM's attention may name the least number of float64."""
    from transformers.models.xglm.modeling_xglm import XGLMAttention

    model.set_experts_implementation("eager")
    for part in model.modules():
        if type(part) is XGLMAttention:
            part.__class__ = _wide(XGLMAttention)


def _wide(kind: Any) -> Any:
    """A kind of attention with `WideConstants` around its passes."""
    def forward(self: Any, *given: Any, **options: Any) -> Any:
        with WideConstants():
            return kind.forward(self, *given, **options)

    return type(f"Wide{kind.__name__}", (kind,), {"forward": forward})
