"""Agreement between score arrays, per query, for all pairs at once: Kendall τ-b, top overlap, sign agreement, and more.

Scores have shape (queries m, candidates k), a stack of them (arrays M, m, k); larger means more influence.
Every function is pure. NumPy arrays in, NumPy out; a torch tensor among the inputs gives a float64 tensor on
its device. A query whose scores hold a NaN has no ranking and gets NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from engine.basics.errors import InvalidInput
from engine.basics.registry import Registry
from engine.metrics.intervals import t_interval
from engine.metrics.kendall import BLOCK_GPU, CACHED, sort_rows, tau_b
from engine.metrics.one_thread import one_torch_thread
from engine.metrics.rank_similarity import jaccard, jaccard_chance, rank_biased_overlap, rbo_chance, spearman

BLOCK_CPU = 1 << 20
MOST_THREADS = 8
Arraylike = ArrayLike | torch.Tensor
Arrays = np.ndarray | torch.Tensor | Sequence[Arraylike]
"""One array with a leading dimension for several, or several arrays."""


@dataclass(frozen=True)
class Metric:
    """A measure of agreement between two score arrays.

    `compare(stack (M, q, k) without NaN, fraction)` returns (M, M, q), float64; `chance(k, fraction)` is its
    expected value for unrelated scores; `range` holds its least and largest value; `short` is accepted for `name`.
    of_signs: it compares every score with 0, not with the scores of other candidates. compare_pooled: the same over all
    pairs at once, where it is not `compare` of one long row.
    """

    name: str
    title: str
    short: str
    definition: str
    range: tuple[float, float]
    chance: Callable[[int, float], float]
    compare: Callable[[torch.Tensor, float], torch.Tensor]
    of_signs: bool = False
    compare_pooled: Callable[[torch.Tensor, float], torch.Tensor] | None = None

    @property
    def pooled_title(self) -> str:
        """Of its value over all pairs at once."""
        return f"{self.title} (pooled)"


def kendall_tau(a: Arraylike, b: Arraylike) -> Any:
    """Kendall τ-b of each query's two rankings of the candidates.

    τ-b = (C − D) / √((P − T_a)(P − T_b)), with P = k(k−1)/2 pairs of candidates, of which C are concordant, D are
    discordant, and T_a, T_b are tied in a, in b.

    a, b: (m, k). Returns (m,) in [−1, 1]; NaN where a ranking is constant (k = 1 included) or holds a NaN.
    Raises InvalidInput for shapes that differ or are not (m, k).
    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945).
    """
    return _pair("kendall_tau", a, b)


def top_overlap(a: Arraylike, b: Arraylike, fraction: float = 0.05) -> Any:
    """Share of the highest-scoring candidates that the two arrays have in common, per query.

    |top_s(a) ∩ top_s(b)| / s with s = top_size(k, fraction), which rounds fraction·k to the nearest integer.
    Among equal scores the candidate that comes first in the array is taken first.

    a, b: (m, k). Returns (m,) in [0, 1]; NaN where a row holds a NaN.
    Raises InvalidInput for shapes that differ or are not (m, k), or a fraction outside (0, 1].
    """
    return _pair("top_overlap", a, b, fraction)


def sign_agreement(a: Arraylike, b: Arraylike) -> Any:
    """Fraction of candidates whose scores have the same sign in both arrays, per query; zero matches zero only.

    a, b: (m, k). Returns (m,) in [0, 1]; NaN where a row holds a NaN.
    Raises InvalidInput for shapes that differ or are not (m, k).
    """
    return _pair("sign_agreement", a, b)


def pairwise(stack: Arrays, metrics: Sequence[str] = ("kendall", "overlap", "sign"), fraction: float = 0.05,
             block: int | None = None, pooled: bool = False) -> dict[str, Any]:
    """Agreement of every pair among M score arrays, for each query, or `pooled` over all (query, candidate) pairs.

    stack: (M, m, k), or a sequence of M arrays (m, k). metrics: names from METRICS or FURTHER, or their short forms.
    fraction: the top fraction for the overlap. block: how many scores to handle at once (memory is a small multiple
    of it, and at least of one query's M·k scores); it does not change the result. pooled: all m·k scores of an array
    are one ranking, so that scores of different queries are compared with each other, and queries with large scores
    decide who is at the top; sign agreement is then over the pairs that are not 0 in both arrays.
    Returns {metric as named: (M, M, m)}, symmetric in the two arrays; the diagonal is 1 where the metric is
    defined; pooled (M, M, 1). τ costs O(k^1.5) a pair and query. On CPU the blocks run on torch.get_num_threads()
    threads (8 at most).
    Raises InvalidInput for an unknown metric, a stack that is not (M, m, k), or a fraction outside (0, 1].
    """
    scores, to_output = _stacked(stack)
    chosen = {name: metric(name) for name in metrics}
    kernels = [(pooled and metric.compare_pooled) or metric.compare for metric in chosen.values()]
    results = _compare(scores.flatten(1)[:, None] if pooled else scores, kernels, fraction, block)
    return {name: to_output(result) for name, result in zip(chosen, results, strict=True)}


def constant(stack: np.ndarray) -> np.ndarray:
    """Which of the rows of (M, m, k) rank nothing, because all their scores are equal: (M, m)."""
    return np.ptp(stack, -1) == 0


def top_size(k: int, fraction: float) -> int:
    """How many of k candidates are the top `fraction`: fraction·k to the nearest integer (half up), at least 1."""
    if not 0.0 < fraction <= 1.0:
        raise InvalidInput(f"The top fraction {fraction} is not in (0, 1]; give for example 0.05.")
    return max(1, math.floor(fraction * k + 0.5))


@dataclass(frozen=True)
class MeanAgreement:
    """Agreement averaged over queries within a seed, then over seeds.

    mean: over seeds. ci95: half width of the 95% t interval, over `interval_over`. n_seeds: seeds with at least
    one defined query. n_queries: queries of a seed (of the longest, where they differ). n_dropped: undefined
    (NaN) query rows, summed over seeds. per_seed: each seed's mean, NaN where every query was dropped.
    """

    mean: float
    ci95: float
    n_seeds: int
    n_queries: int
    n_dropped: int
    per_seed: tuple[float, ...]
    interval_over: str = "seeds"

    @property
    def columns(self) -> dict[str, float]:
        """Of a row of a table."""
        return {name: getattr(self, name) for name in ("mean", "ci95", "n_queries", "n_dropped")}


def summarize(per_query: Arrays, interval_over: str = "seeds") -> MeanAgreement:
    """Mean agreement over queries and seeds, with a 95% t interval.

    per_query: (m,) for one seed, (S, m), or a sequence of S arrays (m_s,); NaN rows are dropped and counted.
    interval_over: "seeds" gives the spread of the per-seed means (NaN half width with one seed); "queries" gives
    the spread of the queries, each averaged over the seeds first, and so says nothing about new seeds.
    Raises InvalidInput for no seeds, arrays of another shape, an unknown `interval_over`, or seeds with different
    numbers of queries when the interval is over queries.
    """
    if interval_over not in ("seeds", "queries"):
        raise InvalidInput(f"An interval over `{interval_over}` is not offered; choose `seeds` or `queries`.")
    seeds = _seeds(per_query)
    lengths = {len(seed) for seed in seeds}
    if interval_over == "queries" and len(lengths) > 1:
        raise InvalidInput("The seeds have different numbers of queries; use `seeds` for the interval instead.")
    per_seed = tuple(_mean(seed) for seed in seeds)
    mean, half_width = t_interval(per_seed)
    if interval_over == "queries":
        _, half_width = t_interval(_means(np.stack(seeds)))
    return MeanAgreement(mean, half_width, n_seeds=sum(not math.isnan(value) for value in per_seed),
                         n_queries=max(lengths), n_dropped=int(sum(np.isnan(seed).sum() for seed in seeds)),
                         per_seed=per_seed, interval_over=interval_over)


def _seeds(per_query: Arrays) -> list[np.ndarray]:
    """The per-query values as one float64 array a seed."""
    given: Any = per_query.detach().cpu().numpy() if isinstance(per_query, torch.Tensor) else per_query
    if np.ndim(given[0] if len(given) else given) == 0:
        given = [given]
    seeds = [np.asarray(seed.detach().cpu() if isinstance(seed, torch.Tensor) else seed, np.float64) for seed in given]
    if not seeds or any(seed.ndim != 1 or not seed.size for seed in seeds):
        raise InvalidInput("The agreement to summarize is not (queries,) for each seed; give at least one such array.")
    return seeds


def _mean(values: np.ndarray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else math.nan


def _means(values: np.ndarray) -> np.ndarray:
    """The mean (m,) over the rows of (S, m) that are numbers; NaN where none is."""
    counts = (~np.isnan(values)).sum(0)
    return np.divide(np.nansum(values, 0), counts, out=np.full(len(counts), math.nan), where=counts > 0)


def _pair(name: str, a: Arraylike, b: Arraylike, fraction: float = 0.05) -> Any:
    shapes = [tuple(np.shape(array)) for array in (a, b)]
    if shapes[0] != shapes[1] or len(shapes[0]) != 2:
        raise InvalidInput(f"Scores of shapes {shapes[0]} and {shapes[1]} cannot be compared; give two arrays "
                           "(queries, candidates).")
    scores, to_output = _stacked([a, b])
    return to_output(_compare(scores, [METRICS[name].compare], fraction, None)[0][0, 1])


def metric(name: str) -> Metric:
    """A metric by its name or short form. Raises `InvalidInput` for an unknown one."""
    by_short = {metric.short: metric for registry in (METRICS, FURTHER) for metric in registry.values()}
    if name in by_short:
        return by_short[name]
    return FURTHER[name] if name in FURTHER else METRICS[name]


def of_signs(name: str) -> bool:
    """Whether the metric of this name, or short form, compares every score with 0."""
    return any(name in (one.name, one.short) and one.of_signs for one in (*METRICS.values(), *FURTHER.values()))


def _stacked(arrays: Arrays) -> tuple[torch.Tensor, Callable]:
    """The arrays as one tensor (M, m, k) of a dtype with an order, and how to hand results back."""
    whole = arrays if isinstance(arrays, (torch.Tensor, np.ndarray)) else None
    tensors = [_tensor(array) for array in arrays] if whole is None else [_tensor(whole)]
    if len({tensor.shape for tensor in tensors}) > 1 or len({tensor.device for tensor in tensors}) > 1:
        raise InvalidInput("The score arrays differ in shape or device; give all as (queries, candidates) on one.")
    if len({tensor.dtype for tensor in tensors}) > 1:
        tensors = [tensor.to(torch.float64) for tensor in tensors]
    if tensors:
        scores = torch.stack(tensors) if whole is None else tensors[0]
    if not tensors or scores.ndim != 3 or scores.shape[0] == 0 or scores.shape[2] == 0:
        shape = tuple(scores.shape) if tensors else ()
        raise InvalidInput(f"A stack of scores of shape {shape} is not (arrays, queries, candidates); reshape it.")
    returns_tensor = isinstance(arrays, torch.Tensor) or any(isinstance(array, torch.Tensor) for array in arrays)
    return scores, (lambda result: result) if returns_tensor else torch.Tensor.numpy


def _tensor(array: Arraylike) -> torch.Tensor:
    tensor = array if isinstance(array, torch.Tensor) else _from_numpy(np.asarray(array))
    if tensor.is_complex():
        raise InvalidInput(f"Scores of type {tensor.dtype} cannot be ranked; give real numbers.")
    narrow = tensor.dtype in (torch.float16, torch.bfloat16, torch.bool)
    return tensor.detach().to(torch.float32) if narrow else tensor.detach()


def _from_numpy(array: np.ndarray) -> torch.Tensor:
    if array.dtype.kind not in "biuf":
        raise InvalidInput(f"Scores of type {array.dtype} cannot be ranked; give real numbers.")
    known = array.dtype in (np.bool_, np.float16, np.float32, np.int8, np.int16, np.int32, np.int64)
    return torch.from_numpy(np.ascontiguousarray(array, dtype=array.dtype if known else np.float64))


def _compare(scores: torch.Tensor, kernels: list[Callable], fraction: float, block: int | None) -> list[torch.Tensor]:
    """Each kernel's (M, M, m), filled block of queries by block of queries."""
    top_size(scores.shape[-1], fraction)
    if block is not None and block < 1:
        raise InvalidInput(f"A block of {block} scores is empty; give a positive number or leave it out.")
    alone = scores.is_cuda or scores.numel() < CACHED
    with one_torch_thread() as available:
        return _in_blocks(scores, kernels, fraction, 1 if alone else min(available, MOST_THREADS), block)


def _in_blocks(scores: torch.Tensor, kernels: list[Callable], fraction: float, threads: int,
               block: int | None) -> list[torch.Tensor]:
    count, queries, k = scores.shape
    most = max(1, (block or (BLOCK_GPU if scores.is_cuda else BLOCK_CPU)) // (count * k))
    rounds = max(1, -(-queries // (most * threads)))
    step = max(1, -(-queries // (rounds * threads)))  # as many blocks for one thread as for another
    results = [scores.new_empty((count, count, queries), dtype=torch.float64) for _ in kernels]

    def fill(start: int) -> None:
        part = scores[:, start : start + step]
        undefined = part.isnan().any(-1)  # (M, q)
        # An order without ties stands in for an undefined ranking, so that it does not slow its neighbours down.
        part = torch.where(undefined[..., None], torch.arange(k, device=part.device).to(part.dtype), part)
        for result, kernel in zip(results, kernels, strict=True):
            values = kernel(part, fraction)
            result[..., start : start + step] = values.masked_fill(undefined[:, None] | undefined, math.nan)

    starts = range(0, queries, step)
    if threads > 1 and len(starts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, starts))
    else:
        for start in starts:
            fill(start)
    return results


def _matches(labels: torch.Tensor) -> torch.Tensor:
    """How many candidates carry a mark in both arrays: (M, q, k) bool -> (M, M, q) float32, exact below 2^24."""
    marks = labels.to(torch.float32).transpose(0, 1)  # (q, M, k)
    return (marks @ marks.mT).permute(1, 2, 0)


def _sign_pairs(stack: torch.Tensor, fraction: float) -> torch.Tensor:
    equal = _matches(stack > 0) + _matches(stack < 0) + _matches(stack == 0)
    return equal.to(torch.float64) / stack.shape[-1]


def _sign_pairs_but_zeros(stack: torch.Tensor, fraction: float) -> torch.Tensor:
    """NaN where all are 0 in both."""
    counted = stack.shape[-1] - _matches(stack == 0).to(torch.float64)
    equal = (_matches(stack > 0) + _matches(stack < 0)).to(torch.float64)
    return torch.where(counted > 0, equal / counted, math.nan)


def _overlap_pairs(stack: torch.Tensor, fraction: float) -> torch.Tensor:
    return _matches(_top(stack, fraction)).to(torch.float64) / top_size(stack.shape[-1], fraction)


def _jaccard_pairs(stack: torch.Tensor, fraction: float) -> torch.Tensor:
    return jaccard(_top(stack, fraction), top_size(stack.shape[-1], fraction), _matches)


def _top(stack: torch.Tensor, fraction: float) -> torch.Tensor:
    """Which candidates are in the top: (M, q, k) -> bool; equal scores enter in the order of the candidates."""
    size = top_size(stack.shape[-1], fraction)
    least = sort_rows(stack.clone())[..., -size, None]  # the lowest score that still gets in
    above, level = stack > least, stack == least
    room = size - above.sum(-1, keepdim=True)
    return above | (level & (level.cumsum(-1) <= room))


METRICS: Registry[Metric] = Registry("agreement metric", (
    Metric(
        "kendall_tau", "Kendall tau", "kendall",
        "How far two score arrays put pairs of candidates in the same order, from −1 for reversed to 1.",
        (-1.0, 1.0), lambda k, fraction: 0.0, tau_b),
    Metric(
        "top_overlap", "Top-5% overlap", "overlap",
        "The fraction of the highest-scoring candidates, by default 5%, that two score arrays have in common.",
        (0.0, 1.0), lambda k, fraction: top_size(k, fraction) / k, _overlap_pairs),
    Metric(
        "sign_agreement", "Sign agreement", "sign",
        "The fraction of candidates that two score arrays agree are helpful, harmful or zero.",
        (0.0, 1.0), lambda k, fraction: 0.5, _sign_pairs, of_signs=True, compare_pooled=_sign_pairs_but_zeros),
))
"""The metrics that every comparison reports."""
FURTHER: Registry[Metric] = Registry("agreement metric", (
    Metric(
        "spearman_rho", "Spearman rho", "spearman",
        "The correlation of the two arrays' ranks, from −1 for reversed to 1; large moves have the most weight.",
        (-1.0, 1.0), lambda k, fraction: 0.0, spearman),
    Metric(
        "rank_biased_overlap", "Rank-biased overlap", "rbo",
        "The overlap at every depth of the two rankings, weighted for a reader who reads down from the top and sees "
        "the top 5% on average.",
        (0.0, 1.0), rbo_chance, rank_biased_overlap),
    Metric(
        "top_jaccard", "Top-5% Jaccard", "jaccard", "Among the candidates in either top 5%, the fraction that is in "
                                                    "both.",
        (0.0, 1.0), lambda k, fraction: jaccard_chance(k, top_size(k, fraction)), _jaccard_pairs),
))
"""Metrics that are computed where they are asked for by name."""
