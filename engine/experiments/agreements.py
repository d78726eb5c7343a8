"""What the controlled studies share: agreement of two score arrays per query, and its summary over seeds as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from engine.basics.provenance import device_name
from engine.experiments.conventions import as_authors
from engine.metrics import seed_means
from engine.metrics.agreement import METRICS, pairwise, summarize
from engine.metrics.intervals import known_mean
from engine.metrics.positions import has_position, has_sign
from engine.metrics.subsets import over_known
from engine.scoring.scores import Scores

Comparison = tuple[str, str, str, str, str, str]
"""Table, curve, axis, title, parameter and behavior of one comparison of two scorings."""
ERROR = "|error"
Agreements = dict[Comparison, dict[str, np.ndarray]]
"""What one seed found: comparison -> metric -> (m,)."""


@dataclass(frozen=True)
class Bounded:
    """Oriented scores (m, k) with bounds (m, k) on their errors, NaN or None where none is stated."""

    values: np.ndarray
    error: np.ndarray | None = None

    @classmethod
    def of(cls, scores: Scores) -> Bounded:
        return cls(scores.oriented, scores.error)

    @property
    def all_count(self) -> Bounded:
        """The same with nothing said of errors, so that every score takes part."""
        return Bounded(self.values)

    def stored(self, name: str) -> dict[str, np.ndarray]:
        """As arrays `name` and `name|error`, which a chunk can hold."""
        return {name: self.values} if self.error is None else {name: self.values, f"{name}{ERROR}": self.error}

    def moved(self, by: Bounded, sign: float) -> Bounded:
        """These plus `sign` times others, that broadcast to them."""
        error = None if self.error is None or by.error is None else self.error + by.error
        return Bounded(self.values + sign * by.values, error)

    @classmethod
    def mean(cls, arrays: Sequence[Bounded]) -> Bounded:
        """The mean of several."""
        errors = [one.error for one in arrays if one.error is not None]
        return cls(np.mean([one.values for one in arrays], 0),
                   np.mean(errors, 0) if len(errors) == len(arrays) else None)

    @classmethod
    def restored(cls, arrays: Mapping[str, np.ndarray], name: str) -> Bounded:
        """What `stored` made into arrays."""
        return cls(arrays[name], arrays.get(f"{name}{ERROR}"))

    @classmethod
    def all_restored(cls, arrays: Mapping[str, np.ndarray]) -> dict[str, Bounded]:
        """name -> what `stored` made, of arrays that hold nothing else."""
        return {name: cls.restored(arrays, name) for name in arrays if not name.endswith(ERROR)}

    @classmethod
    def all_stored(cls, by_name: Mapping[str, Scores]) -> dict[str, np.ndarray]:
        """The arrays of several scores by name."""
        return {key: array for name, scores in by_name.items() for key, array in cls.of(scores).stored(name).items()}

    def of_candidates(self, chosen: np.ndarray | slice) -> Bounded:
        """Those of the candidates `chosen` alone."""
        return Bounded(self.values[:, chosen], None if self.error is None else self.error[:, chosen])

    def like(self, other: Bounded) -> Bounded:
        """Those of the first queries and candidates, as many as `other` has."""
        m, k = other.values.shape
        return Bounded(self.values[:m, :k], None if self.error is None else self.error[:m, :k])


def per_query(a: Bounded, b: Bounded, compare: Callable[..., dict[str, np.ndarray]] = pairwise
              ) -> dict[str, np.ndarray]:
    """metric -> (m,) of two score arrays (m, k), of each query over the candidates that take part in both."""
    ranks, signs = (rule(a.values, a.error) & rule(b.values, b.error) for rule in (has_position, has_sign))
    stack = np.stack([a.values, b.values])
    measured = over_known(partial(compare, metrics=tuple(METRICS)), stack, ranks, signs)
    return {metric: values[0, 1] for metric, values in measured.items()}


def pooled(a: Bounded, b: Bounded) -> dict[str, np.ndarray]:
    """The pooled title of each metric -> (1,), of two score arrays (m, k) over all (query, candidate) pairs at once."""
    first, second = (Bounded(one.values.reshape(1, -1), None if one.error is None else one.error.reshape(1, -1))
                     for one in (a, b))
    values = per_query(first, second, partial(pairwise, pooled=True))
    return {METRICS[metric].pooled_title: value for metric, value in values.items()}


def measured(a: Bounded, b: Bounded, settings: Mapping[str, Any], over_all: bool = False) -> dict[str, np.ndarray]:
    """Agreement per query; of the authors' with every score, and also over all pairs at once where `over_all`."""
    if not as_authors(settings):
        return per_query(a, b)
    a, b = a.all_count, b.all_count
    return per_query(a, b) | (pooled(a, b) if over_all else {})


def stored(agreements: dict[str, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """name -> metric -> (m,) as flat arrays `name|metric`, which a chunk can hold."""
    return {f"{name}|{metric}": values for name, metrics in agreements.items() for metric, values in metrics.items()}


def restored(arrays: Mapping[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """metric -> (m,) out of what `stored` made."""
    titles = (key for metric in METRICS.values() for key in (metric.name, metric.pooled_title))
    return {title: arrays[key] for title in titles if (key := f"{name}|{title}") in arrays}


def over_seeds(source: Mapping[str, Any], seeds: Sequence[int],
               of_seed: Callable[[int], tuple[Agreements, Mapping[str, Any]]],
               progress: Callable[[float], None]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of all comparisons of a source over its seeds, and what a manifest says of each seed's run.

    of_seed: seed -> what it found, and what its run has to say. progress: called with the share done after each.
    """
    by_seed, runs = [], []
    for seed in seeds:
        agreements, facts_of_run = of_seed(seed)
        by_seed.append(agreements)
        runs.append({"source": {**source, "seed": seed}, **facts_of_run})
        progress(len(by_seed) / len(seeds))
    return [row for comparison in by_seed[0]
            for row in summaries(source["dataset"], comparison, [seed[comparison] for seed in by_seed])], runs


def summaries(dataset: str, comparison: Comparison, seeds: Sequence[Mapping[str, np.ndarray]]) -> list[dict[str, Any]]:
    """One row a metric of a comparison over its seeds."""
    table, curve, axis, title, parameter, behavior = comparison
    rows = []
    for name in next(iter(seeds)):
        mean = summarize([seed[name] for seed in seeds])
        title_of_metric = METRICS[name].title if name in METRICS else name
        rows.append({"table": table, "curve": curve, "dataset": dataset, "axis": axis, "comparison": title,
                     "parameter": parameter, "behavior": behavior, "metric": title_of_metric, "mean": mean.mean,
                     "ci95": mean.ci95, "n_seeds": mean.n_seeds, "n_queries": mean.n_queries,
                     "n_dropped": mean.n_dropped, "seed_means": seed_means.joined(mean.per_seed)})
    return rows


def rows_over_seeds(seeds: Sequence[Mapping[Any, np.ndarray]], columns: Sequence[str]
                    ) -> list[dict[str, Any]]:
    """A row a key, whose parts are the `columns`: of values (m,) a seed the mean over queries, then over seeds."""
    rows = []
    for key, values in seeds[0].items():
        summary = seed_means.summary(known_mean(one[key]) for one in seeds)
        each = summary.pop("seed_means")
        rows.append({**dict(zip(columns, key, strict=True)), **summary, "n_queries": len(values), "seed_means": each})
    return rows


def facts(sampled, **factual) -> dict[str, Any]:
    """What a chunk says of its problem: data, device, and the factual model with its test accuracy."""
    problem = sampled.problem
    return {"data": problem.fingerprint, "device": device_name(str(problem.device)),
            "factual": {**factual, "test_accuracy": sampled.test_accuracy()}}


def words(behavior: str) -> str:
    """`query_loss` as the tables write it."""
    return behavior.replace("_", " ")


def alpha_parameter(alpha: float) -> str:
    """`alpha=0.001`, as the paper's tables write it."""
    return f"alpha={np.format_float_positional(alpha)}"
