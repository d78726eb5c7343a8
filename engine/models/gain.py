"""Whether this processor computes passes faster in bfloat16: a short measurement, once for a machine.

Forward and backward passes through a matrix and through a convolution in channels-last order, in float32 and under
autocast, each the fastest of a few in turn. The result is stored in HOME/machine/bfloat16.json for this processor
and this version of torch.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch
from torch import Tensor, nn

from engine.basics.errors import StoreError
from engine.basics.files import atomic_write
from engine.basics.folders import shared_folder
from engine.basics.latest import Latest
from engine.basics.provenance import device_name, processor_features
from engine.basics.values import Number, Value
from engine.metrics.one_thread import one_torch_thread
from engine.models.layout import channels_last

ENOUGH = 1.3
"""A smaller gain does not pay for casting the weights of small networks."""
ROUNDS, LONGEST = 5, 0.3
"""Passes of each precision at most, and the processor seconds after which no further one is begun."""


class Gain(Value):
    """How many times as fast a pass is in bfloat16 as in float32, through matrices and through convolutions."""

    matrices: Number
    convolutions: Number

    def of(self, module: nn.Module) -> float:
        """What counts for a module: convolutions where it has any."""
        return self.convolutions if any(isinstance(part, nn.Conv2d) for part in module.modules()) else self.matrices


_LATEST: Latest[Gain] = Latest()


def gain() -> Gain:
    """Of this machine, measured if no measurement of it is stored."""
    path = shared_folder() / "machine" / "bfloat16.json"
    return _LATEST.get(path, lambda: stored_gain(path))


def stored_gain(path: Path, measured: Callable[[], Gain] | None = None) -> Gain:
    """What the file says for this processor and this version of torch; else it is measured and written there.

    A file that cannot be written is done without.
    """
    machine = {"processor": device_name(), "features": processor_features(), "torch": str(torch.__version__)}
    with suppress(OSError, ValueError, KeyError, TypeError):  # no file, or no measurement of ours
        record = json.loads(path.read_bytes())
        gains = Gain(**record["gain"])
        if record["machine"] == machine and _sound(gains):
            return gains
    gains = (measured or measure)()
    record = {"machine": machine, "gain": gains.model_dump(mode="json")}
    with suppress(OSError, StoreError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, json.dumps(record, indent=1) + "\n")
    return gains


def _sound(gains: Gain) -> bool:
    return all(math.isfinite(value) and value > 0 for value in (gains.matrices, gains.convolutions))


def measure() -> Gain:
    """On one thread, in well under a second; it draws nothing from torch's own generator and leaves no gradient."""
    generator = torch.Generator().manual_seed(0)

    def sampled(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    weight, kernel = sampled(512, 512).requires_grad_(), sampled(64, 64, 3, 3).requires_grad_()
    x, pictures = sampled(1_024, 512), channels_last(sampled(32, 64, 16, 16))
    with one_torch_thread():
        return Gain(matrices=_ratio(lambda: nn.functional.linear(x, weight), weight),
                    convolutions=_ratio(lambda: nn.functional.conv2d(pictures, kernel, padding=1), kernel))


def _ratio(forward: Callable[[], Tensor], weight: Tensor) -> float:
    """Least seconds in float32 over least seconds in bfloat16; the first pass of each prepares what is reused."""
    least = dict.fromkeys((False, True), math.inf)
    spent = dict.fromkeys(least, 0.0)
    for number in range(1 + ROUNDS):
        for narrow in least:
            if spent[narrow] > LONGEST:
                continue
            taken = _seconds(forward, weight, narrow)
            spent[narrow] += taken
            if number or taken > LONGEST:
                least[narrow] = min(least[narrow], taken)
    return round(least[False] / least[True], 2)


def _seconds(forward: Callable[[], Tensor], weight: Tensor, narrow: bool) -> float:
    started = time.thread_time()  # what else the machine does is not counted
    with torch.enable_grad(), torch.autocast("cpu", torch.bfloat16, enabled=narrow):
        value = forward()
    torch.autograd.grad(value.float().sum(), weight)
    return time.thread_time() - started

