"""The scorecard: methods × benchmarks, each with its intervals, the controls, and what the exact answers have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.scorecard.benchmark import BENCHMARKS, CEILING, Benchmark, Measured, SeedValues, Sizes
from engine.analysis.scorecard.method import CONTROLS, card_method
from engine.basics.values import capital, signed
from engine.estimators.named import RENAMED
from engine.metrics.intervals import known_mean, t_interval, t_quantile
from engine.question.specification import AXIS_NAMES
from engine.scoring.said import listed

CEILING_TITLE = "Exact answer of another seed"
OLDER = {"subsets": 0, "ci95_subsets": math.nan, "n_seeds": 1, "seed_sd": math.nan}
"""Columns that a card of an earlier version lacks, beside its protocol -> what stands for them."""


def rows(benchmark: Benchmark, methods: Mapping[str, Measured], sizes: Sizes | None = None) -> pd.DataFrame:
    """A row a method and measure: mean with its 95% t interval over queries or repetitions, and what the method is.

    protocol: how models without some examples were trained; empty where none were. n: the queries or repetitions.
    subsets: the models on subsets behind a value, 0 without any; ci95_subsets: the half width of the interval of the
    mean over the draw of these subsets. n_seeds: training seeds whose values are averaged for each query first;
    seed_sd: the standard deviation of their means.
    """
    protocol = (sizes or Sizes()).protocol if benchmark.retrains else ""
    listed = []
    for name, measured in methods.items():
        for measure, values in measured.items():
            listed.append({"benchmark": benchmark.name, "protocol": protocol, "measure": measure, "method": name,
                           **_what(name), **_numbers(values)})
    return pd.DataFrame(listed)


def _what(name: str) -> dict[str, Any]:
    if name == CEILING:
        return {"title": CEILING_TITLE, "exact": False, "control": False}
    return {"title": card_method(name).title, "exact": card_method(name).exact, "control": name in CONTROLS}


def _numbers(measured: np.ndarray | SeedValues) -> dict[str, Any]:
    over = measured if isinstance(measured, SeedValues) else SeedValues(measured[None])
    means = [known_mean(row) for row in over.values]
    values = np.array([known_mean(column) for column in over.values.T])
    mean, half = t_interval(values)
    return {"mean": mean, "ci95": half, "n": int((~np.isnan(values)).sum()), "n_dropped": int(np.isnan(values).sum()),
            "subsets": over.subsets, "ci95_subsets": t_quantile(over.subsets) * over.subset_error,
            "n_seeds": len(means), "seed_sd": float(np.std(means, ddof=1)) if len(means) > 1 else math.nan}


def with_older(table: pd.DataFrame) -> pd.DataFrame:
    """A card with present titles and the columns that one of an earlier version lacks; where models were trained
    without some examples, its protocol was `weights`."""
    trained = [name in BENCHMARKS and BENCHMARKS[name].retrains for name in table["benchmark"]]
    older = {"protocol": np.where(trained, "weights", ""), **OLDER}
    return table.replace({"title": RENAMED}).assign(
        **{name: value for name, value in older.items() if name not in table})


def verdicts(benchmark: Benchmark, table: pd.DataFrame, behavior: str) -> list[str]:
    """Sentences on the exact methods that lose: below the best other method by more than both intervals. table: the
    rows of the benchmark. What differs between the two questions is said; that it is the cause is not."""
    said = []
    for measure, own in table[table["method"] != CEILING].groupby("measure", sort=False):
        own = own.dropna(subset=["mean"]).set_index("method")
        size = own["mean"].abs() if benchmark.better == "smaller" else -own["mean"]
        half = own["ci95"].fillna(0.0)
        for name in own.index[own["exact"]]:
            better = [other for other in own.index if (other not in CONTROLS or benchmark.better == "larger")
                      and size[other] + half[other] < size[name] - half[name]]
            if better:
                best = min(better, key=lambda other: size[other])
                where = f" ({measure})" if measure else ""
                said.append(f"{own['title'][name]} is exact for its own question and scores below "
                            f"{own['title'][best]}{where}: {mean_of(own, name)} and {mean_of(own, best)}. "
                            f"{_difference(benchmark, name, behavior, str(own['protocol'][name]))}")
    return said


def counted(row: pd.Series) -> str:
    """A row of the card as a sentence, with what was counted: its mean, intervals, queries, subsets and seeds."""
    where = f", {row['measure']}" if row["measure"] else ""
    counts = [f"{row['n']:,} queries"]
    if row["subsets"]:
        counts.append(f"{row['subsets']:,} subsets (± {row['ci95_subsets']:.2f} from their draw)")
    if not math.isnan(row["seed_sd"]):
        counts.append(f"{row['n_seeds']:,} values over seeds with a standard deviation of {row['seed_sd']:.2f}")
    return f"{row['title']}{where}: {with_half(row['mean'], row['ci95'])} over {'; '.join(counts)}."


def mean_of(rows_of_methods: pd.DataFrame, name: str) -> str:
    """The mean of a method with its interval over queries, as in `0.31 ± 0.04`."""
    return with_half(rows_of_methods["mean"][name], rows_of_methods["ci95"][name])


def with_half(mean: float, half: float) -> str:
    """`0.31 ± 0.04`, or `0.31 (no interval)`."""
    number = signed(mean, 2)
    return f"{number} (no interval)" if math.isnan(half) else f"{number} ± {half:.2f}"


def _difference(benchmark: Benchmark, name: str, behavior: str, protocol: str) -> str:
    """How the benchmark's question differs from the one that the exact method answers."""
    if benchmark.asks is None:
        return f"{capital(benchmark.sought)} is the target here, not a counterfactual."
    own = card_method(name).scoring(behavior)
    axes = () if own is None else benchmark.asks(behavior).differing_axes(own)
    differences = [f"another {listed([AXIS_NAMES[axis] for axis in axes])}"] if axes else []
    if protocol not in ("", "weights"):
        differences.append(f"models of the protocol `{protocol}` instead of the recorded run")
    if not differences:
        return ("The benchmark concerns groups, the method single examples; whether that explains the score was not "
                "measured.")
    return f"The benchmark tests {', and '.join(differences)}; whether that explains the score was not measured."
