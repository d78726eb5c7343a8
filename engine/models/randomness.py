"""torch's random generators, lent to a training that seeds them as it likes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


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


def seed_generators(device: torch.device, seed: int) -> None:
    """Seed the generators that initialisation and dropout draw from."""
    seed %= 2**63
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
