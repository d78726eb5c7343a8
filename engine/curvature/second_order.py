"""Graphs of a user's model that can be differentiated twice, and a sentence where they cannot.

Scaled dot-product attention is computed by its plain formula, because its fused kernels have one derivative only, and
`hardsigmoid` as relu6(x + 3)/6, because torch lacks its second; convolutions and poolings by `convolutions`, whose
second derivatives are faster than those of torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

from engine.basics.errors import InvalidInput
from engine.curvature.convolutions import convolved, pooled

FASTER: Mapping[Callable, Callable] = {torch.conv2d: convolved, functional.max_pool2d: pooled}


@contextmanager
def twice_differentiable() -> Iterator[None]:
    """With gradients on; what a model computes inside can be differentiated twice, as far as torch can."""
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH), _Substitutes():
        yield


class _Substitutes(TorchFunctionMode):
    def __torch_function__(self, func: Callable, types: Any, args: Any = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        if func is functional.hardsigmoid:
            return functional.relu6(args[0] + 3) / 6
        func = FASTER.get(func, func)
        return func(*args, **(kwargs or {}))


def explained(error: Exception) -> InvalidInput | None:
    """A sentence in place of autograd's, where an operation has no second derivative."""
    return _once_only(" ".join(str(error).split())[:120]) if "not implemented" in str(error) else None


def refuse_once_differentiable(gradients: Sequence[Tensor]) -> None:
    """Raises `InvalidInput` for gradients whose graph ends in a `once_differentiable` operation.

    `torch.autograd.grad` would leave that branch out in silence, and with it a part of the Hessian.
    """
    seen, waiting = set(), [gradient.grad_fn for gradient in gradients]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if node.name().rpartition("::")[2] == "Error":
            raise _once_only("marked with @once_differentiable")
        seen.add(node)
        waiting.extend(following for following, _ in node.next_functions)


def _once_only(operation: str) -> InvalidInput:
    return InvalidInput(f"The model has an operation without a second derivative ({operation}), so there is no Hessian"
                        "; use a one-step or trajectory process, or replace the operation.")
