"""Spearman's ρ, rank-biased overlap and Jaccard at k of all pairs of rankings: kernels of `engine.metrics.agreement`.

Each maps a stack of scores (M, q, k) without NaN, and a top fraction, to (M, M, q) float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from scipy.stats import hypergeom

from engine.metrics.kendall import sort_rows


def spearman(stack: torch.Tensor, fraction: float = 0.0) -> torch.Tensor:
    """ρ = Pearson's correlation of the ranks, ties at their mean rank; NaN where a ranking is constant.

    Twice a rank, centred, is an integer, so every sum is exact in float64 up to k ≈ 10⁵. `fraction` is not used.
    """
    count, queries, k = stack.shape
    ordered = sort_rows(stack.clone(memory_format=torch.contiguous_format))
    stack = stack.contiguous()
    below, through = (torch.searchsorted(ordered, stack, side=side) for side in ("left", "right"))
    centred = (below + through - k).to(torch.float64).transpose(0, 1)  # (q, M, k), 2·rank − (k + 1)
    products = (centred @ centred.mT).permute(1, 2, 0)
    squares = products.diagonal(dim1=0, dim2=1).T  # (M, q)
    rho = products / (squares[:, None] * squares).sqrt()  # 0/0 where constant
    return rho.clamp(-1.0, 1.0)


def rank_biased_overlap(stack: torch.Tensor, fraction: float) -> torch.Tensor:
    """RBO = p^k + Σ_{d=1}^k (1 − p) p^{d−1} |top_d(a) ∩ top_d(b)| / d, with p = 1 − 1/s and s the size of the top.

    A reader who goes on from each rank with probability p sees the top s on average (Webber, Moffat and Zobel, "A
    similarity measure for indefinite rankings", 2010, Eq. 32 for whole rankings). A candidate counts from the depth
    at which both rankings have it, so one table of tail sums replaces the sum over depths. Ties as in the overlap.
    """
    count, queries, k = stack.shape
    ranks = _ranks(stack)
    weights, rest = _depth_weights(k, fraction)
    gains = torch.as_tensor(weights, device=stack.device)
    overlaps = stack.new_ones((count, count, queries), dtype=torch.float64)
    for i in range(count - 1):
        depth = torch.maximum(ranks[i], ranks[i + 1:])
        overlaps[i, i + 1:] = overlaps[i + 1:, i] = (gains[depth].sum(-1) + rest).clamp(max=1.0)
    return overlaps


def rbo_chance(k: int, fraction: float) -> float:
    """Its expectation for unrelated rankings, where depth d has d²/k candidates in common."""
    persistence = _persistence(k, fraction)
    depths = np.arange(1, k + 1)
    return float(((1 - persistence) * persistence ** (depths - 1) * depths / k).sum() + persistence**k)


def jaccard(top: torch.Tensor, size: int, matches: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """|A ∩ B| / |A ∪ B| of marked sets of one size: (M, q, k) bool -> (M, M, q)."""
    common = matches(top).to(torch.float64)
    return common / (2 * size - common)


def jaccard_chance(k: int, size: int) -> float:
    """Its expectation for unrelated sets, whose common part is hypergeometric."""
    common = np.arange(size + 1)
    return float((hypergeom(k, size, size).pmf(common) * common / (2 * size - common)).sum())


def _ranks(stack: torch.Tensor) -> torch.Tensor:
    """The rank of each candidate, 0 for the largest score; equal scores in the order of the candidates."""
    order = stack.argsort(dim=-1, descending=True, stable=True)
    ranks = torch.arange(stack.shape[-1], device=stack.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, ranks)


def _persistence(k: int, fraction: float) -> float:
    return 1.0 - 1.0 / max(1, math.floor(fraction * k + 0.5))


@lru_cache(maxsize=8)
def _depth_weights(k: int, fraction: float) -> tuple[np.ndarray, float]:
    """(k,): what a candidate adds that both rankings have from rank j on, Σ_{d>j} (1 − p) p^{d−1} / d; and p^k."""
    persistence, depths = _persistence(k, fraction), np.arange(1, k + 1)
    each = (1 - persistence) * persistence ** (depths - 1) / depths
    return each[::-1].cumsum()[::-1].copy(), persistence**k
