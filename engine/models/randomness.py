"""torch's random generators, lent to a training that seeds them as it likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput


@contextmanager
def own_randomness(device: torch.device) -> Iterator[None]:
    """torch's generators and settings are as before afterwards; within, convolutions are computed alike every time."""
    cuda = device.type == "cuda"
    index = device.index if device.index is not None or not cuda else torch.cuda.current_device()
    cudnn = torch.backends.cudnn
    before = cudnn.deterministic, cudnn.benchmark
    with torch.random.fork_rng([index] if cuda else []):
        cudnn.deterministic, cudnn.benchmark = True, False
        try:
            yield
        finally:
            cudnn.deterministic, cudnn.benchmark = before


def seed_generators(device: torch.device, seed: int | Tensor) -> None:
    """Seed the generators that initialisation and dropout draw from, or put the device's own in a state that
    `generator_state` gave."""
    if isinstance(seed, Tensor):
        _put(device, seed)
        return
    seed %= 2**63
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)


def generator_state(device: torch.device) -> Tensor:
    """Where the generator stands that dropout on a device draws from, as bytes on the CPU; nothing is drawn."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _put(device: torch.device, state: Tensor) -> None:
    try:
        if device.type == "cuda":
            torch.cuda.set_rng_state(state, device)
        else:
            torch.set_rng_state(state)
    except RuntimeError:
        raise InvalidInput(f"The recorded state of the random generator is none of a `{device.type}` device; train on "
                           "the kind of device that the run was recorded on.") from None
