"""All pairs of score arrays compared: agreement per query, its mean and interval, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.basics.errors import InvalidInput
from engine.metrics.agreement import METRICS, Agreement, pairwise, summarize
from engine.scoring.scores import Scores
from engine.scoring.verdict import Verdict, verdict


@dataclass(frozen=True, eq=False)
class Comparison:
    """M score arrays compared per query, one set of seeds.

    names (M,); per_query: metric -> (S, M, M, m); left_out: candidates that did not converge somewhere, each
    seed; verdicts[i][j].
    """

    names: tuple[str, ...]
    per_query: dict[str, np.ndarray]
    left_out: tuple[int, ...]
    verdicts: tuple[tuple[Verdict, ...], ...]

    def agreement(self, metric: str, a: int, b: int) -> Agreement:
        """Mean over queries, then seeds; the 95% t-interval runs over seeds, or over queries if there is one seed."""
        values = self.per_query[metric][:, a, b]
        return summarize(values, interval_over="seeds" if len(values) > 1 else "queries")

    def table(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """One row for each unordered pair and metric: a, b, metric, mean, ci95, n_queries, n_dropped, verdict, …"""
        rows = []
        for metric in metrics or self.per_query:
            for a in range(len(self.names)):
                for b in range(a + 1, len(self.names)):
                    found = self.agreement(metric, a, b)
                    rows.append({"a": self.names[a], "b": self.names[b], "metric": metric, "mean": found.mean,
                                 "ci95": found.ci95, "n_queries": found.n_queries, "n_dropped": found.n_dropped,
                                 "verdict": self.verdicts[a][b].code, "n_seeds": found.n_seeds,
                                 "interval_over": found.interval_over, "n_left_out": sum(self.left_out)})
        columns = ["a", "b", "metric", "mean", "ci95", "n_queries", "n_dropped", "verdict", "n_seeds",
                   "interval_over", "n_left_out"]
        return pd.DataFrame(rows, columns=columns)


def compare(seeds: Sequence[Sequence[Scores]], names: Sequence[str] | None = None, *,
            fraction: float = 0.05, metrics: Sequence[str] = ()) -> Comparison:
    """Compare the same M scorings on each seed: `seeds[s][i]` is scoring i on seed s.

    metrics: names from METRICS or FURTHER (default: all of METRICS).

    Scores are oriented first. A candidate that did not converge under any of the scorings is left out
    of all of them, and counted. Raises `InvalidInput` where arrays do not belong together.
    """
    _check(seeds, names)
    stacks, left_out = [], []
    for arrays in seeds:
        kept = np.logical_and.reduce([scores.converged for scores in arrays])
        if not kept.any():
            raise InvalidInput("No candidate converged under all specifications; raise l2 or lower α.")
        stacks.append(np.stack([scores.oriented[:, kept] for scores in arrays]))
        left_out.append(int((~kept).sum()))
    scorings = [scores.scoring for scores in seeds[0]]
    metrics = tuple(metrics or METRICS)
    found = [pairwise(stack, metrics, fraction) for stack in stacks]
    per_query = {metric: np.stack([seed[metric] for seed in found]) for metric in metrics}
    verdicts = tuple(tuple(verdict(a, b) for b in scorings) for a in scorings)
    return Comparison(tuple(names or (scoring.title for scoring in scorings)), per_query, tuple(left_out), verdicts)


def _check(seeds: Sequence[Sequence[Scores]], names: Sequence[str] | None) -> None:
    if not seeds or not seeds[0]:
        raise InvalidInput("There are no scores to compare; compute at least one scoring on one seed.")
    if names is not None and len(names) != len(seeds[0]):
        raise InvalidInput(f"There are {len(names)} names for {len(seeds[0])} score arrays; give one for each.")
    if len({tuple(scores.scoring.digest for scores in arrays) for arrays in seeds}) > 1:
        raise InvalidInput("The seeds hold different scorings; compute the same scorings, in one order, on each.")
    if len({arrays[0].values.shape[0] for arrays in seeds}) > 1:
        raise InvalidInput("The seeds have different numbers of queries; draw the same number for each.")
    for arrays in seeds:
        first = arrays[0]
        for scores in arrays[1:]:
            same_problem = scores.provenance.get("data") == first.provenance.get("data")
            if scores.values.shape != first.values.shape or not same_problem or not np.array_equal(
                    scores.candidates, first.candidates):
                raise InvalidInput("The score arrays belong to different problems, queries or candidates; compute "
                                   "them on the same problem.")
