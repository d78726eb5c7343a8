r"""Random projections R of gradients, (b, P) → (b, k), with E⟨Ru, Rv⟩ = ⟨u, v⟩ (Johnson and Lindenstrauss 1984).

A matrix of P × k numbers is never held: blocks of rows are drawn again from the seed at each use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry

BLOCK = 1 << 22


@dataclass(frozen=True)
class Projector:
    """A named projection: project(gradients (b, P), k, seed) -> (b, k). dense: drawn block by block."""

    name: str
    title: str
    source: str
    project: Callable[[Tensor, int, int], Tensor]


def blockwise(draw: Callable[[tuple[int, int], torch.Generator], Tensor]) -> Callable[[Tensor, int, int], Tensor]:
    """Gradients times a dense random matrix with entries of variance 1/k, drawn in blocks of rows on the CPU."""

    def project(gradients: Tensor, k: int, seed: int) -> Tensor:
        found, rows = gradients.new_zeros(len(gradients), k), max(1, BLOCK // k)
        generator = torch.Generator().manual_seed(seed)
        for part in gradients.split(rows, 1):
            matrix = draw((part.shape[1], k), generator).to(device=gradients.device, dtype=gradients.dtype)
            found.addmm_(part, matrix, alpha=k**-0.5)
        return found

    return project


def count_sketch(gradients: Tensor, k: int, seed: int) -> Tensor:
    """Every coordinate is added, with a random sign, to one random bucket (Charikar et al. 2002): O(b·P).

    Buckets and signs are drawn where the gradients are: the same seed gives another draw on another kind of device.
    """
    generator = torch.Generator(gradients.device).manual_seed(seed)
    size, device = gradients.shape[1], gradients.device
    bucket = torch.randint(k, (size,), generator=generator, device=device)
    sign = torch.randint(2, (size,), generator=generator, device=device).mul_(2).sub_(1)
    signed = gradients * sign
    if device.type == "cpu" and not gradients.requires_grad:  # many times faster there than index_add
        rows = [np.bincount(bucket.numpy(), weights=row, minlength=k) for row in signed.numpy()]
        return torch.from_numpy(np.stack(rows)).to(gradients.dtype) if rows else gradients.new_zeros(0, k)
    return gradients.new_zeros(len(gradients), k).index_add_(1, bucket, signed)


def identity(gradients: Tensor, k: int, seed: int) -> Tensor:
    """No projection: k is ignored."""
    return gradients


PROJECTORS: Registry[Projector] = Registry("projector")
for _projector in (
    Projector("rademacher", "Random signs", "Park et al. 2023",
              blockwise(lambda shape, generator: 2.0 * torch.randint(2, shape, generator=generator) - 1.0)),
    Projector("gaussian", "Gaussian", "Johnson & Lindenstrauss 1984",
              blockwise(lambda shape, generator: torch.randn(shape, generator=generator))),
    Projector("count_sketch", "Count sketch", "Charikar et al. 2002", count_sketch),
    Projector("identity", "None", "", identity),
):
    PROJECTORS.add(_projector.name, _projector)


def checked_dimension(k: int) -> int:
    """Raises `InvalidInput` for a dimension below 1."""
    if k < 1:
        raise InvalidInput(f"The projection dimension is {k}; use at least 1, for example 512.")
    return k
