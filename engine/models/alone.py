"""Whether a module's outputs for an example are a function of that example: alike twice, and whatever it is beside."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput

CLOSE = {torch.float32: 1e-3, torch.float64: 1e-6}
"""How far two passes may be apart, relative to the largest number: kernels for one row add in another order."""
Calls = list[tuple[str, Tensor | None, Tensor | None]]
"""Of every call in the order in which they end: the module, and the first tensors that went in and came out."""


def check_alone(module: nn.Module, x: Tensor) -> None:
    """Raises `InvalidInput`, with the layer's name, where two passes of a module in evaluation mode over a few inputs
    x (b, …) differ, or a batch and its rows one by one."""
    with torch.no_grad():
        before = x.clone()
        whole = _calls(module, partial(module, x))
        if not torch.equal(x, before) and not x.isnan().any():
            raise InvalidInput("The forward pass changes its inputs in place; change a copy instead.")
        if where := _first_apart(module, whole, _calls(module, partial(module, x))):
            raise InvalidInput(f"Two passes over the same inputs differ in evaluation mode, first in {where}; disable "
                               "its randomness there (in a forward pass, `F.dropout(x, p, self.training)`).")
        try:
            rows = [_calls(module, partial(module, part)) for part in x.split(1)]
        except (RuntimeError, ValueError) as error:
            raise InvalidInput(f"The model does not accept a single input ({' '.join(str(error).split())[:120]}), so "
                               "its outputs depend on the rest of the batch; use one that does, for example BatchNorm "
                               "with its running statistics.") from None
        if any(len(one) != len(whole) for one in rows):
            return
        parts = [(name, _joined([one[call][1] for one in rows]), _joined([one[call][2] for one in rows]))
                 for call, (name, _, _) in enumerate(whole)]
        if where := _first_apart(module, whole, parts):
            raise InvalidInput(f"The outputs for an example depend on the rest of its batch, first in {where}; use "
                               "layers that process each example separately (BatchNorm with its running statistics, "
                               "no mean over the batch).")


def _calls(module: nn.Module, run: Callable[[], object]) -> Calls:
    calls: Calls = []
    hooks = [part.register_forward_hook(lambda _, given, out, name=name: calls.append(
        (name, _tensor(given), _tensor((out,))))) for name, part in module.named_modules()]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def _tensor(values: tuple) -> Tensor | None:
    """The first one, as it is now: an operation in place may follow."""
    return values[0].clone() if values and isinstance(values[0], Tensor) else None


def _joined(parts: list[Tensor | None]) -> Tensor | None:
    try:
        return torch.cat([part for part in parts if part is not None]) if parts[0] is not None else None
    except RuntimeError:
        return None


def _first_apart(module: nn.Module, one: Calls, other: Calls) -> str:
    """Where the outputs of the whole differ, the first call that made different outputs of the same inputs."""
    if not one or not other or _close(one[-1][2], other[-1][2]):
        return ""
    for (name, given, out), (_, other_given, apart) in zip(one, other, strict=False):
        if _close(given, other_given) and not _close(out, apart):
            return f"the layer `{name}` ({type(module.get_submodule(name)).__name__})" if name else (
                f"the forward pass of `{type(module).__name__}` itself")
    return f"the forward pass of `{type(module).__name__}` itself"


def _close(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None or one.shape != other.shape or not one.is_floating_point():
        return one is other or one is not None and other is not None and torch.equal(one, other)
    scale = float(one[one.isfinite()].abs().max()) if one.isfinite().any() else 0.0
    return torch.allclose(one, other, rtol=0, atol=CLOSE.get(one.dtype, 1e-2) * scale, equal_nan=True)
