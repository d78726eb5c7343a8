r"""Random projections R of gradients, (b, P) → (b, k), with E⟨Ru, Rv⟩ = ⟨u, v⟩ (Johnson and Lindenstrauss 1984).

A matrix of P × k numbers is never held: blocks of rows are drawn again from the seed at each use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry

BLOCK = 1 << 22
KEPT, DRAWS = 1 << 20, 32
"""Numbers of a gradient up to which draws of its count sketch are kept, and how many: 9 bytes a number."""


@dataclass(frozen=True)
class Projector:
    """A named projection: project(gradients (b, P), k, seed) -> (b, k).

    together: the sum of the projections of several parts, each with its own seed, where that is faster than one by one.
    """

    name: str
    title: str
    source: str
    project: Callable[[Tensor, int, int], Tensor]
    together: Callable[[Sequence[Tensor], int, Sequence[int]], Tensor] | None = None

    def sum_of(self, parts: Sequence[Tensor], k: int, seeds: Sequence[int]) -> Tensor:
        """Σ_p R(seed_p) u_p of at least one part u_p (b, P_p), (b, k)."""
        if self.together is not None:
            return self.together(parts, k, seeds)
        found = [self.project(part, k, seed) for part, seed in zip(parts, seeds, strict=True)]
        return torch.stack(found).sum(0)


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
    return count_sketches([gradients], k, [seed])


def count_sketches(parts: Sequence[Tensor], k: int, seeds: Sequence[int]) -> Tensor:
    """The sum of count sketches of parts (b, P_p), each with the draw of its own seed, in one pass over all of them."""
    gradients = torch.cat(list(parts), 1) if len(parts) > 1 else parts[0]
    sizes = tuple(part.shape[1] for part in parts)
    drawn = _kept_draw if sum(sizes) <= KEPT else _draw
    bucket, sign = drawn(sizes, k, tuple(seeds), gradients.device)
    signed = gradients * sign
    if gradients.device.type == "cpu" and not gradients.requires_grad:  # many times faster there than index_add
        rows = [np.bincount(bucket.numpy(), weights=row, minlength=k) for row in signed.numpy()]
        return torch.from_numpy(np.stack(rows)).to(gradients.dtype) if rows else gradients.new_zeros(0, k)
    return gradients.new_zeros(len(gradients), k).index_add_(1, bucket, signed)


def _draw(sizes: tuple[int, ...], k: int, seeds: tuple[int, ...], device: torch.device) -> tuple[Tensor, Tensor]:
    """Buckets and signs ±1 of all parts, (Σ P_p,) each."""
    buckets, signs = [], []
    for size, seed in zip(sizes, seeds, strict=True):
        generator = torch.Generator(device).manual_seed(seed)
        buckets.append(torch.randint(k, (size,), generator=generator, device=device))
        signs.append(torch.randint(2, (size,), generator=generator, device=device).mul_(2).sub_(1).to(torch.int8))
    return torch.cat(buckets), torch.cat(signs)


_kept_draw = lru_cache(maxsize=DRAWS)(_draw)


def identity(gradients: Tensor, k: int, seed: int) -> Tensor:
    """No projection: k is ignored."""
    return gradients


PROJECTORS: Registry[Projector] = Registry("projector")
for _projector in (
    Projector("rademacher", "Random signs", "Park et al. 2023",
              blockwise(lambda shape, generator: 2.0 * torch.randint(2, shape, generator=generator) - 1.0)),
    Projector("gaussian", "Gaussian", "Johnson & Lindenstrauss 1984",
              blockwise(lambda shape, generator: torch.randn(shape, generator=generator))),
    Projector("count_sketch", "Count sketch", "Charikar et al. 2002", count_sketch, count_sketches),
    Projector("identity", "None", "", identity),
):
    PROJECTORS.add(_projector.name, _projector)


def checked_dimension(k: int) -> int:
    """Raises `InvalidInput` for a dimension below 1."""
    if k < 1:
        raise InvalidInput(f"The projection dimension is {k}; use at least 1, for example 512.")
    return k
