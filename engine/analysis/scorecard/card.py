"""The scorecard: methods × benchmarks, each with its interval, the controls, and what the exact answers have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from engine.analysis.scorecard.benchmark import Benchmark, Measured
from engine.analysis.scorecard.method import CONTROLS, METHODS
from engine.metrics.intervals import t_interval
from engine.question.specification import AXIS_NAMES


def rows(benchmark: Benchmark, found: Mapping[str, Measured]) -> pd.DataFrame:
    """A row a method and measure: mean with its 95% t interval over queries or repetitions, and what the method is."""
    listed = []
    for name, measured in found.items():
        for measure, values in measured.items():
            mean, half = t_interval(values)
            listed.append({"benchmark": benchmark.name, "measure": measure, "method": name,
                           "title": METHODS[name].title, "exact": METHODS[name].exact, "control": name in CONTROLS,
                           "mean": mean, "ci95": half, "n": int((~np.isnan(values)).sum()),
                           "n_dropped": int(np.isnan(values).sum())})
    return pd.DataFrame(listed)


def verdicts(benchmark: Benchmark, table: pd.DataFrame, behavior: str) -> list[str]:
    """Sentences on the exact methods that lose: below the best other method by more than both intervals. table: the
    rows of the benchmark."""
    said = []
    for measure, part in table.groupby("measure", sort=False):
        part = part.dropna(subset=["mean"]).set_index("method")
        size = part["mean"].abs() if benchmark.better == "smaller" else -part["mean"]
        for name in part.index[part["exact"]]:
            better = [other for other in part.index if (other not in CONTROLS or benchmark.better == "larger")
                      and size[other] + part["ci95"].fillna(0.0)[other]
                      < size[name] - part["ci95"].fillna(0.0)[name]]
            if better:
                best = min(better, key=lambda other: size[other])
                where = f" ({measure})" if measure else ""
                said.append(f"{part['title'][name]} is exact and loses to {part['title'][best]}{where}: "
                            f"{_why(benchmark, name, behavior)}")
    return said


def _why(benchmark: Benchmark, name: str, behavior: str) -> str:
    """Which question is tested that the exact method does not ask."""
    if benchmark.asks is None:
        return f"{benchmark.sought} is sought here, and no counterfactual."
    asked = benchmark.asks(behavior)
    own = METHODS[name].scoring(behavior)
    axes = () if own is None else asked.differing_axes(own)
    if not axes:
        return "the benchmark asks about groups, and its question is about single examples."
    return f"the benchmark tests another {' and '.join(AXIS_NAMES[axis] for axis in axes)}."
