r"""Random projections R of gradients, (b, P) → (b, k), with E⟨Ru, Rv⟩ = ⟨u, v⟩ (Johnson and Lindenstrauss 1984).

A matrix of P × k numbers is never held: blocks of rows are drawn again from the seed at each use.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry

BLOCK = 1 << 22
Map = Callable[[Tensor], Tensor]
"""Σ_p Rᵀ_p u_p of parts u_p side by side, (b, Σ P_p) -> (b, k), with a draw R_p for each part."""


@dataclass(frozen=True)
class Projector:
    """A named projection. draw(sizes P_p of parts, k, a seed for each, device) -> the map, which always does the same;
    whoever uses it again and again keeps it, since what it holds may have taken time to draw. once: as `project`, where
    that takes less time than to draw a map.
    """

    name: str
    title: str
    source: str
    draw: Callable[[Sequence[int], int, Sequence[int], torch.device], Map]
    once: Callable[[Tensor, int, int], Tensor] | None = None

    def project(self, gradients: Tensor, k: int, seed: int) -> Tensor:
        """Rᵀ u of one part, (b, P) -> (b, k)."""
        if self.once is not None:
            return self.once(gradients, k, seed)
        return self.draw((gradients.shape[1],), k, (seed,), gradients.device)(gradients)


def blockwise(entries: Callable[[tuple[int, int], torch.Generator], Tensor]) -> Callable[..., Map]:
    """Gradients times a dense random matrix with entries of variance 1/k, drawn in blocks of rows on the CPU, again at
    each use."""

    def add(gradients: Tensor, k: int, seed: int, total: Tensor) -> None:
        generator = torch.Generator().manual_seed(seed)
        for block in gradients.split(max(1, BLOCK // k), 1):
            matrix = entries((block.shape[1], k), generator).to(device=gradients.device, dtype=gradients.dtype)
            total.addmm_(block, matrix, alpha=k**-0.5)

    def draw(sizes: Sequence[int], k: int, seeds: Sequence[int], device: torch.device) -> Map:
        def project(joined: Tensor) -> Tensor:
            total = joined.new_zeros(len(joined), k)
            for gradients, seed in zip(joined.split(list(sizes), 1), seeds, strict=True):
                add(gradients, k, seed, total)
            return total

        return project

    return draw


@dataclass(frozen=True, eq=False)
class CountSketch:
    """Every coordinate is added, with a random sign, to one random bucket (Charikar et al. 2002): O(b·P).

    matrix (k, P): by compressed rows, one ±1 in every column; 8 bytes a coordinate. The product with it reads the b
    numbers of a coordinate together: gradients (b, P) that lie in memory coordinate after coordinate need not be copied
    for it.
    """

    matrix: Tensor

    @classmethod
    def draw(cls, sizes: Sequence[int], k: int, seeds: Sequence[int], device: torch.device) -> CountSketch:
        """Drawn on the device: the same seed gives another draw on another kind of it."""
        draws = [buckets(size, k, _seeded(seed, device)) for size, seed in zip(sizes, seeds, strict=True)]
        bucket, sign = map(torch.cat, zip(*draws, strict=True))
        return cls(_compressed(bucket, sign, k))

    def __call__(self, gradients: Tensor) -> Tensor:
        return torch.sparse.mm(self.matrix.to(gradients.dtype), gradients.T.contiguous()).T

    @staticmethod
    def once(gradients: Tensor, k: int, seed: int) -> Tensor:
        """Of one part, without the matrix, whose columns have to be sorted."""
        bucket, sign = buckets(gradients.shape[1], k, _seeded(seed, gradients.device))
        return gradients.new_zeros(len(gradients), k).index_add_(1, bucket, gradients * sign)


def buckets(size: int, k: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A random bucket of k and a random sign for each of so many coordinates, (size,), on the generator's device."""
    bucket = torch.randint(k, (size,), generator=generator, device=generator.device)
    return bucket, torch.randint(2, (size,), generator=generator, device=generator.device).mul_(2).sub_(1)


def _seeded(seed: int, device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def _compressed(bucket: Tensor, sign: Tensor, k: int) -> Tensor:
    """The matrix (k, P) that adds coordinate p, times sign_p, to bucket_p."""
    ends = torch.bincount(bucket, minlength=k).cumsum(0)
    order = bucket.argsort(stable=True)
    with warnings.catch_warnings():
        # that torch may still change the layout, and that checks are off where none are asked for
        warnings.filterwarnings("ignore", "Sparse (CSR|invariant)", UserWarning)
        return torch.sparse_csr_tensor(functional.pad(ends, (1, 0)).int(), order.int(), sign[order].float(),
                                       (k, len(order)), check_invariants=True)


MASKED = 4
"""Coordinates that GraSS keeps for each number that it projects to."""


def grass(sizes: Sequence[int], k: int, seeds: Sequence[int], device: torch.device) -> Map:
    """MASKED · k random coordinates of each part, or all where there are no more, times √(P_p over their number), in a
    count sketch."""
    selected, scales, start = [], [], 0
    for size, seed in zip(sizes, seeds, strict=True):
        some = torch.randperm(size, generator=_seeded(seed, device), device=device)[:MASKED * k]
        selected.append(start + some)
        scales.append(torch.full((len(some),), (size / len(some)) ** 0.5, device=device))
        start += size
    index, scale = torch.cat(selected), torch.cat(scales)
    sketch = CountSketch.draw([len(some) for some in selected], k, seeds, device)
    return lambda joined: sketch(joined[:, index] * scale.to(joined))


def identity(sizes: Sequence[int], k: int, seeds: Sequence[int], device: torch.device) -> Map:
    """No projection: k is ignored."""
    return lambda joined: joined


PROJECTORS: Registry[Projector] = Registry("projector", (
    Projector("rademacher", "Random signs", "Park et al. 2023",
              blockwise(lambda shape, generator: 2.0 * torch.randint(2, shape, generator=generator) - 1.0)),
    Projector("gaussian", "Gaussian", "Johnson & Lindenstrauss 1984",
              blockwise(lambda shape, generator: torch.randn(shape, generator=generator))),
    Projector("count_sketch", "Count sketch", "Charikar et al. 2002", CountSketch.draw, CountSketch.once),
    Projector("grass", "Sparse mask and count sketch", "Hu et al. 2025", grass),
    Projector("identity", "None", "", identity),
))


def checked_dimension(k: int) -> int:
    """Raises `InvalidInput` for a dimension below 1."""
    if k < 1:
        raise InvalidInput(f"The projection dimension is {k}; use at least 1, for example 512.")
    return k
