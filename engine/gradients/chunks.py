"""A long batch worked through within a memory budget, in chunks that shrink where memory runs out all the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.gradients.findings import computed_once
from engine.models.network import Network

BUDGET = 4 << 30
"""Bytes that a computation may take beside its result."""
CEILINGS = {"cpu": 64, "cuda": 1024}
"""Examples at a time: more of them leave a CPU's caches, and gain nothing on a GPU."""
HEAP_BLOCK = 31 << 20
"""Once a block of this size was freed, glibc keeps smaller ones for the next chunk, where it would give them back to
the system and have their pages zeroed anew: a quarter of a CPU's time in small networks."""
EXHAUSTED = ("not enough memory", "can't allocate memory", "out of memory", "alloc_failed")


def unchecked() -> None:
    """Nobody asks to cancel."""


def in_chunks(run: Callable[[slice], None], count: int, chunk: int, check: Callable[[], None] = unchecked) -> None:
    """run(slice) over range(count), `chunk` examples at a time, and half as many from where memory runs out.

    `run` keeps its own results and may be called twice for a slice. `check` is called before every chunk.
    Warns once that the chunks shrank. Raises `InvalidInput` where even one example does not fit.
    """
    start, warned = 0, False
    torch.empty(HEAP_BLOCK, dtype=torch.uint8)
    while start < count:
        check()
        try:
            run(slice(start, min(start + chunk, count)))
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if chunk == 1:
                raise InvalidInput("The gradient of a single example does not fit in memory; select fewer "
                                   "parameters, or use a machine with more memory.") from None
        else:
            start += chunk
            continue
        chunk = max(1, min(chunk, count - start) // 2)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if not warned:
            warnings.warn(f"Out of memory: gradients continue with {chunk:,} examples at a time.",
                          RuntimeWarning, stacklevel=3)
            warned = True


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory, the machine's or the GPU's, has run out."""
    return (isinstance(error, (MemoryError, torch.OutOfMemoryError))
            or any(phrase in str(error).lower() for phrase in EXHAUSTED))


def fitting(one: int, budget: int, device: torch.device) -> int:
    """Examples at a time, when each takes `one` bytes."""
    return max(1, min(CEILINGS[device.type], budget // max(one, 1)))


def allocated(what: str, *shape: int, like: Tensor) -> Tensor:
    """An empty result. Raises `InvalidInput` where memory does not hold it."""
    try:
        return like.new_empty(shape)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        size = torch.Size(shape).numel() * like.element_size() / 2**30
        raise InvalidInput(f"The {what} take {size:,.1f} GiB, more than the available memory; use "
                           "fewer examples at a time, or select fewer parameters.") from None


def activation_bytes(network: Network, x: Tensor) -> int:
    """Bytes of all modules' outputs for one example, from a forward pass of one."""
    return computed_once(network, ("activations", tuple(x.shape[1:])), lambda: _activation_bytes(network, x[:1]))


def _activation_bytes(network: Network, x: Tensor) -> int:
    sizes = [x.nbytes]
    hooks = [module.register_forward_hook(lambda _, __, output: sizes.append(getattr(output, "nbytes", 0)))
             for module in network.module.modules()]
    try:
        network.predict(x)
    finally:
        for hook in hooks:
            hook.remove()
    return sum(sizes)
