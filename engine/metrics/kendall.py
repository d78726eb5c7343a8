"""Kendall τ-b of all pairs of rankings at once, from exact integer counts of discordant and tied pairs.

The discordant pairs of two rankings are the inversions of the one in the order of the other. They are
counted in blocks of about √k positions, which costs O(k^1.5) a pair in large regular operations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

BLOCK_GPU = 1 << 23
CACHED = 1 << 18  # entries at a time whose counts stay in a core's cache


def tau_b(stack: torch.Tensor, fraction: float = 0.0) -> torch.Tensor:
    """τ-b of all pairs, (M, q, k) -> (M, M, q), NaN where a ranking is constant.

    `fraction` is not used; it makes this a metric like the others.
    """
    count, queries, k = stack.shape
    ranks = _ranks(stack)
    untied = k * (k - 1) // 2 - ranks.tied  # (M, q)
    norm = untied.to(torch.float64)
    tau = stack.new_ones((count, count, queries), dtype=torch.float64)
    for i in range(count - 1):
        difference, _ = _concordance(ranks, untied, i)
        # One root of the product: symmetric to the last bit, and exactly ±1 for equal and reversed rankings.
        tau[i, i + 1 :] = tau[i + 1 :, i] = difference / (norm[i] * norm[i + 1 :]).sqrt()
    constant = untied == 0
    return tau.masked_fill(constant[:, None] | constant, math.nan)


def distance(stack: torch.Tensor) -> torch.Tensor:
    """Kendall distance of all pairs, (M, q, k) -> (M, M, q) in [0, 1]: Σ |sgn(a_i − a_j) − sgn(b_i − b_j)| / (2P).

    The sum runs over the P = k(k−1)/2 pairs of candidates: a discordant pair counts 1, a pair that is tied in one
    ranking only counts ½ (Fagin et al., "Comparing partial rankings", 2006). Half an L1 distance of sign vectors, so
    a metric on rankings, ties and constant rankings included. Without ties it is (1 − τ) / 2.
    """
    count, queries, k = stack.shape
    ranks, pairs = _ranks(stack), k * (k - 1) // 2
    untied = pairs - ranks.tied
    distances = stack.new_zeros((count, count, queries), dtype=torch.float64)
    for i in range(count - 1):
        difference, tied_in_both = _concordance(ranks, untied, i)
        halves = (pairs - difference - tied_in_both).to(torch.float64)
        distances[i, i + 1 :] = distances[i + 1 :, i] = halves / (2 * max(pairs, 1))
    return distances


def _concordance(ranks: _Ranks, untied: torch.Tensor, i: int) -> tuple[torch.Tensor, torch.Tensor | int]:
    """Concordant minus discordant pairs of array i and each array j > i (M−i−1, q), and the pairs tied in both."""
    pairs = ranks.position.shape[-1] * (ranks.position.shape[-1] - 1) // 2
    first_in_second, second_in_first, tied_in_both = _common_orders(ranks, i)
    discordant = _discordant(first_in_second, second_in_first)
    return untied[i] + untied[i + 1 :] - pairs + tied_in_both - 2 * discordant, tied_in_both


@dataclass(frozen=True)
class _TieGroups:
    """Tie groups of a stack of rankings, (M, q, k) each.

    start: the position where the group of each position starts. steps: 1 where a position starts one (from the second
    one on). start_key, lowest_key: that start for each position and for each candidate, shifted left by _key_bits(k) to
    leave room for a position.
    """

    start: torch.Tensor
    steps: torch.Tensor
    start_key: torch.Tensor
    lowest_key: torch.Tensor


@dataclass(frozen=True)
class _Ranks:
    """Rankings of a stack (M, q, k), ties in any order; positions are in ascending order.

    order: candidate at each position. position: of each candidate. tied: (M, q) tied pairs. groups: of equal
    scores, None where nothing is tied.
    """

    order: torch.Tensor
    position: torch.Tensor
    tied: torch.Tensor
    groups: _TieGroups | None = None


def _ranks(stack: torch.Tensor) -> _Ranks:
    shape, k = stack.shape, stack.shape[-1]
    positions = torch.arange(k, device=stack.device, dtype=_integer_for(2 * k, at_least=16)).expand(shape)
    order = torch.from_numpy(np.argsort(stack.numpy(), -1)) if in_numpy(stack) else stack.argsort(-1)
    position = _inverse(order, positions)
    ascending = stack.gather(-1, order)
    steps = _steps(ascending).to(positions.dtype)
    if steps.all():
        return _Ranks(order, position, torch.zeros(shape[:2], dtype=torch.int64, device=stack.device))
    start = _run_starts(steps, positions)
    tied = k * (k - 1) // 2 - start.sum(-1, dtype=torch.int64)
    start_key = start.to(_integer_for(1 << 2 * _key_bits(k))) << _key_bits(k)
    return _Ranks(order, position, tied, _TieGroups(start, steps, start_key, _inverse(order, start_key)))


def _common_orders(ranks: _Ranks, i: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | int]:
    """The positions in array i along the order of each array j > i, the reverse, and the number of pairs tied in both.

    Ties in one array are broken by the other, so a pair that is tied anywhere is never discordant.
    Shapes: (M−i−1, q, k) twice, and (M−i−1, q) or 0.
    """
    order, position, groups = ranks.order[i + 1 :], ranks.position[i + 1 :], ranks.groups
    if groups is None:
        first_in_second = ranks.position[i].expand_as(position).gather(-1, order)
        return first_in_second, position.gather(-1, ranks.order[i].expand_as(order)), 0
    k = order.shape[-1]
    mask = (1 << _key_bits(k)) - 1
    wide = torch.arange(k, device=order.device, dtype=groups.start_key.dtype).expand_as(position)
    positions = wide[0, 0].to(position.dtype).expand_as(position)

    key = groups.lowest_key[i].expand_as(wide).gather(-1, order).bitwise_or_(wide)
    key = sort_rows(key).bitwise_and_(mask).to(torch.int64)  # j's position of each candidate, by i and then by j
    key = _inverse(key, wide).bitwise_or_(groups.start_key[i + 1 :])
    key = sort_rows(key).bitwise_and_(mask).to(torch.int64)  # i's position of each candidate, by j and then by i

    starts = groups.start[i].expand_as(positions).gather(-1, key)
    steps = _steps(starts).bitwise_or_(groups.steps[i + 1 :])
    tied_in_both = k * (k - 1) // 2 - _run_starts(steps, positions).sum(-1, dtype=torch.int64)
    return key.to(position.dtype), _inverse(key, positions), tied_in_both


def _key_bits(k: int) -> int:
    return k.bit_length()


def _inverse(index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """result[index[p]] = values[p] along the last axis, for rows of `index` that are permutations."""
    return torch.empty(values.shape, dtype=values.dtype, device=values.device).scatter_(-1, index, values)


def _steps(values: torch.Tensor) -> torch.Tensor:
    """1 where a value differs from the one before it, in the type of the values: (…, k) -> (…, k−1)."""
    result = torch.empty_like(values[..., 1:], memory_format=torch.contiguous_format)
    return torch.ne(values[..., 1:], values[..., :-1], out=result)  # torch vectorises this only into its own type


def _discordant(first_in_second: torch.Tensor, second_in_first: torch.Tensor) -> torch.Tensor:
    """Inversions of permutations along the last axis, given with their inverses: (…, k) -> (…) int64.

    Both orders are cut into blocks of b positions, with b from about √k to 2√k, where the work was measured to be
    least. Inversions within a block of the one order and within a block of the other are compared position by position;
    the rest follow from the counts of each block pair.
    """
    k = first_in_second.shape[-1]
    half = (k - 1).bit_length() // 2
    side = 1 << min(half + 1, max(half, 7))  # above 128 a block's counts outgrow bytes
    rows = max(1, (BLOCK_GPU if first_in_second.is_cuda else CACHED) // k)
    parts = zip(first_in_second.reshape(-1, k).split(rows), second_in_first.reshape(-1, k).split(rows), strict=True)
    counts = [_count_inversions(first, second, side) for first, second in parts]
    return torch.cat(counts).view(first_in_second.shape[:-1])


def _count_inversions(first_in_second: torch.Tensor, second_in_first: torch.Tensor, side: int) -> torch.Tensor:
    within_first = _inversions(_blocks(second_in_first, side))
    first_block = _blocks(first_in_second, side) >> (side.bit_length() - 1)
    first_block = first_block.to(_integer_for(first_block.shape[-1]))
    return within_first + _inversions(first_block) + _inversions_across(first_block)


def _blocks(sequence: torch.Tensor, side: int) -> torch.Tensor:
    """(…, k) -> (side, rows, blocks): consecutive positions along axis 0, padded at the end by larger values."""
    k = sequence.shape[-1]
    padded = -(-k // side) * side
    rows = sequence.reshape(-1, k)
    result = rows.new_empty((side, rows.shape[0], padded // side))
    view = result.permute(1, 2, 0)
    full = k // side
    view[:, :full] = rows[:, : full * side].view(len(rows), full, side)
    if full * side < k:
        rest = k - full * side
        view[:, full, :rest] = rows[:, full * side :]
        view[:, full, rest:] = torch.arange(k, padded, device=rows.device, dtype=rows.dtype)
    return result


def _inversions(blocks: torch.Tensor) -> torch.Tensor:
    """Pairs along axis 0 whose earlier value is larger, summed over blocks: (b, rows, blocks) -> (rows,) int64."""
    side = blocks.shape[0]
    if in_numpy(blocks):
        values, larger = blocks.numpy(), np.empty(blocks.shape, np.bool_)
        counted = np.zeros(blocks.shape, np.uint8 if side <= 256 else np.int32)
        for lag in range(1, side):
            np.greater(values[:-lag], values[lag:], out=larger[lag:])
            np.add(counted[lag:], larger[lag:].view(np.uint8), out=counted[lag:])
        count = torch.from_numpy(counted)
    else:
        count = torch.zeros(blocks.shape, dtype=torch.int32, device=blocks.device)
        for lag in range(1, side):
            count[lag:] += blocks[:-lag] > blocks[lag:]
    return count.sum(0, dtype=torch.int32).sum(-1, dtype=torch.int64)


def _inversions_across(blocks: torch.Tensor) -> torch.Tensor:
    """Pairs in different blocks of both orders that are inverted: (b, rows, blocks) -> (rows,) int64.

    `blocks` holds, at each position of the one order, the number of the candidate's block in the other.
    """
    side, rows, total = blocks.shape
    at_most = torch.empty((total, rows, total), dtype=torch.int32, device=blocks.device)  # [v, row, block]: values ≤ v
    hits = torch.empty(blocks.shape, dtype=torch.bool, device=blocks.device)
    for value in range(total):
        at_most[value] = _count_at_most(blocks, value, hits)
    exactly = at_most.clone()
    exactly[1:] -= at_most[:-1]
    larger = side - at_most
    in_earlier_blocks = larger.cumsum(-1, dtype=torch.int32).sub_(larger)
    return in_earlier_blocks.mul_(exactly).sum(-1, dtype=torch.int64).sum(0)


def _count_at_most(blocks: torch.Tensor, value: int, hits: torch.Tensor) -> torch.Tensor:
    """How many entries of each block are at most `value`: (b, rows, blocks) -> (rows, blocks); `hits` is scratch."""
    if not in_numpy(blocks):
        return torch.le(blocks, value, out=hits).sum(0, dtype=torch.int32)
    np.less_equal(blocks.numpy(), value, out=hits.numpy())
    narrow = np.uint8 if blocks.shape[0] < 256 else np.int32
    return torch.from_numpy(np.add.reduce(hits.numpy().view(np.uint8), axis=0, dtype=narrow))


def _run_starts(steps: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """The position where the run of equal values at each position starts: steps (…, k−1) -> (…, k)."""
    starts = torch.zeros_like(positions, memory_format=torch.contiguous_format)
    torch.mul(positions[..., 1:], steps, out=starts[..., 1:])
    if in_numpy(starts):
        return torch.from_numpy(np.maximum.accumulate(starts.numpy(), -1))
    return starts.cummax(-1).values


def sort_rows(values: torch.Tensor) -> torch.Tensor:
    """`values` sorted along the last axis, in place where that is faster."""
    if in_numpy(values):
        values.numpy().sort(-1)
        return values
    return values.sort(-1).values


def _integer_for(limit: int, at_least: int = 8) -> torch.dtype:
    """The narrowest integer type of `at_least` so many bits that holds 0 … limit − 1."""
    for dtype in (torch.uint8, torch.int16, torch.int32):
        if limit - 1 <= torch.iinfo(dtype).max and at_least <= torch.iinfo(dtype).bits:
            return dtype
    return torch.int64


def in_numpy(tensor: torch.Tensor) -> bool:
    """Whether NumPy does this tensor's sorts, comparisons and running maxima, as it is far faster at them on CPU."""
    return tensor.device.type == "cpu"
