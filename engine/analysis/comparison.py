"""All pairs of score arrays compared: agreement per query, its mean and interval, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import inf, nan

import numpy as np
import pandas as pd

from engine.basics.errors import InvalidInput
from engine.metrics.agreement import METRICS, MeanAgreement, constant, pairwise, summarize
from engine.problems import Problem
from engine.question.interventions import Upweight
from engine.scoring.convergence import Convergence
from engine.scoring.identities import ProblemFacts
from engine.scoring.left_out import LeftOut
from engine.scoring.reference import SolveEvidence, unstable
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import Measured, Verdict, verdict

ROUNDING = 1e-6
"""Of a query's largest score: what two arrays that are equal may differ by."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """M score arrays compared per query, one set of seeds.

    names (M,); per_query: metric -> (S, M, M, m); lost: candidates that are left out, each seed; below_resolution:
    scores of the others that are flagged under some scoring, each seed; unranked, unsigned: those whose error bound
    leaves them out of rankings, and of sign agreement, under some scoring, each seed; verdicts[i][j].
    """

    names: tuple[str, ...]
    per_query: dict[str, np.ndarray]
    lost: tuple[LeftOut, ...]
    below_resolution: tuple[int, ...]
    verdicts: tuple[tuple[Verdict, ...], ...]
    unranked: tuple[int, ...] = ()
    unsigned: tuple[int, ...] = ()

    @property
    def left_out(self) -> tuple[int, ...]:
        """How many candidates are left out, each seed."""
        return tuple(lost.count for lost in self.lost)

    def agreement(self, metric: str, a: int, b: int) -> MeanAgreement:
        """Mean over queries, then seeds; the 95% t-interval runs over seeds, or over queries if there is one seed."""
        values = self.per_query[metric][:, a, b]
        return summarize(values, interval_over="seeds" if len(values) > 1 else "queries")

    def table(self, metrics: Sequence[str] | None = None) -> pd.DataFrame:
        """One row for each unordered pair and metric: a, b, metric, mean, ci95, n_queries, n_dropped, verdict, …"""
        rows = []
        for metric in metrics or self.per_query:
            for a in range(len(self.names)):
                for b in range(a + 1, len(self.names)):
                    agreement = self.agreement(metric, a, b)
                    rows.append({"a": self.names[a], "b": self.names[b], "metric": metric, **agreement.columns,
                                 "verdict": self.verdicts[a][b].code, "n_seeds": agreement.n_seeds,
                                 "interval_over": agreement.interval_over, "n_left_out": sum(self.left_out)})
        columns = ["a", "b", "metric", "mean", "ci95", "n_queries", "n_dropped", "verdict", "n_seeds",
                   "interval_over", "n_left_out"]
        return pd.DataFrame(rows, columns=columns)


def compare(seeds: Sequence[Sequence[Scores]], names: Sequence[str] | None = None, *,
            fraction: float = 0.05, metrics: Sequence[str] = (), problem: type[Problem] | None = None) -> Comparison:
    """Compare the same M scorings on each seed: `seeds[s][i]` is scoring i on seed s.

    metrics: names from METRICS or FURTHER (default: all of METRICS). problem: of which kind theirs is, so that the
    verdicts know its mathematics. A query that one of two scorings ranks as constant is dropped for every metric.

    Scores are oriented first. A candidate that did not converge under any of the scorings is left out of all of them,
    and of its query a score whose error bound leaves it no position (of sign agreement: no sign) under one of them;
    all are counted. Raises `InvalidInput` where arrays do not belong together.
    """
    _check(seeds, names)
    together = [Together.of(arrays) for arrays in seeds]
    lost = tuple(map(LeftOut.of, seeds))
    if not all(part.converged.any() for part in together):
        raise InvalidInput(f"No candidate is left to compare {LeftOut.joined(lost).because}; "
                           f"{_remedies([scores.scoring for scores in seeds[0]])}.")
    if not all((part.known.sum(1) > 1).any() for part in together):
        raise InvalidInput("No query has two scores that can be ranked within their error bounds under all "
                           "specifications; use the precision `float64`, or a larger intervention.")
    scorings = [scores.scoring for scores in seeds[0]]
    metrics = tuple(metrics or METRICS)
    measured = [part.measured(partial(_pairwise, metrics=metrics, fraction=fraction)) for part in together]
    per_query = {metric: np.stack([seed[metric] for seed in measured]) for metric in metrics}
    remarks = [remarks_on([arrays[index] for arrays in seeds]) for index in range(len(scorings))]
    evidence = {scoring: SolveEvidence.of([arrays[index] for arrays in seeds])
                for index, scoring in enumerate(scorings)}
    verdicts = _verdicts(scorings, [np.where(part.known, part.stack, 0.0) for part in together],
                         per_query.get("kendall_tau"), _facts(seeds[0][0], problem), remarks, evidence)
    return Comparison(tuple(names or (scoring.title for scoring in scorings)), per_query,
                      lost, tuple(part.below_resolution for part in together), verdicts,
                      tuple(part.unranked for part in together), tuple(part.unsigned for part in together))


def with_refused(table: pd.DataFrame, metrics: Sequence[str], names: Sequence[str], refused: Mapping[str, str]
                 ) -> pd.DataFrame:
    """The table of a comparison, with a row for each metric and pair of `names` of which one has no scores, as
    `refused` says of each of these."""
    pairs = [pair for pair in combinations(names, 2) if refused.keys() & set(pair)]
    rows = [{"a": a, "b": b, "metric": metric, "n_queries": 0, "n_dropped": 0,
             "verdict": f"not computed: {refused.get(a) or refused[b]}"}
            for metric in metrics for a, b in pairs]
    return pd.DataFrame([*table.to_dict("records"), *rows], columns=table.columns) if rows else table


def _verdicts(scorings: Sequence[Scoring], stacks: Sequence[np.ndarray], taus: np.ndarray | None,
              facts: ProblemFacts, remarks: Sequence[tuple[str, ...]], evidence: Mapping[Scoring, SolveEvidence]
              ) -> tuple[tuple[Verdict, ...], ...]:
    """Of all pairs, by the table of identities and by what stacks (M, m, k) of the seeds and taus (S, M, M, m) show.

    remarks (M): on how each scoring was computed.
    """
    shown = {}
    for a, b in combinations(range(len(scorings)), 2):
        seen = measured([stack[[a, b]] for stack in stacks], None if taus is None else taus[:, a, b])
        shown[a, b] = shown[b, a] = replace(seen, remarks=tuple(dict.fromkeys((*remarks[a], *remarks[b]))),
                                            evidence=evidence)
    return tuple(tuple(verdict(a, b, facts, shown.get((i, j))) for j, b in enumerate(scorings))
                 for i, a in enumerate(scorings))


def measured(stacks: Sequence[np.ndarray], taus: np.ndarray | None) -> Measured:
    """What two scorings' arrays (2, m, k) of each seed show, with τ of every query: equal to rounding, ranked alike,
    how far apart."""
    equal = all(bool((np.abs(a - b) <= ROUNDING * np.maximum(np.abs(a), np.abs(b)).max(-1, keepdims=True)).all())
                for a, b in stacks)
    defined = np.array([]) if taus is None else taus[~np.isnan(taus)]
    return Measured(equal, equal or bool(defined.size and (defined > 1 - 1e-12).all()), distance=_distance(stacks),
                    least=float(defined.min()) if defined.size else nan)


def _distance(stacks: Sequence[np.ndarray]) -> float:
    """The largest difference of two scores over the larger standard deviation of their query's, over all queries; of
    queries where both are constant 0 where they are equal, else ∞."""
    each = []
    for a, b in stacks:
        apart, spread = np.abs(a - b).max(-1), np.maximum(a.std(-1), b.std(-1))
        each.append(np.divide(apart, spread, out=np.where(apart > 0, inf, 0.0), where=spread > 0))
    return float(max(one.max() for one in each))


def remarks_on(seeds: Sequence[Scores]) -> tuple[str, ...]:
    """What a reader must know of how one scoring was computed, over all seeds."""
    joined, route = Convergence.joined([scores.convergence for scores in seeds]), seeds[0].scoring.route
    sizes = (f"The scores “{route.title}” have no sign, so absolute values are compared.",) * route.unsigned
    return *joined.remarks(route.title), *unstable(joined), *sizes


def _remedies(scorings: Sequence[Scoring]) -> str:
    """What may make these scorings converge, and nothing that they do not have."""
    damped = any("damping" in type(scoring.process).model_fields for scoring in scorings)
    remedies = ["raise l2 or the damping" if damped else "raise l2"]
    remedies += ["lower α"] if any(isinstance(scoring.intervention, Upweight) for scoring in scorings) else []
    if any(scoring.process.optimum and scoring.exact for scoring in scorings):
        remedies.append("if a network reaches no optimum, use a `local_search`")
    return ", or ".join(remedies)


def _pairwise(stack: np.ndarray, *, metrics: Sequence[str], fraction: float) -> dict[str, np.ndarray]:
    """Every metric of every pair, (M, M, m), without the queries that one of the two ranks as constant."""
    flat = constant(stack)
    return {name: np.where(flat[:, None] | flat, np.nan, values)
            for name, values in pairwise(stack, metrics, fraction).items()}


def _facts(scores: Scores, problem: type[Problem] | None) -> ProblemFacts:
    return ProblemFacts.of(problem, scores.provenance["sizes"]["classes"]) if problem else ProblemFacts()


def _check(seeds: Sequence[Sequence[Scores]], names: Sequence[str] | None) -> None:
    if not seeds or not seeds[0]:
        raise InvalidInput("There are no scores to compare; compute at least one scoring on one seed.")
    if names is not None and len(names) != len(seeds[0]):
        raise InvalidInput(f"There are {len(names)} names for {len(seeds[0])} score arrays; give one for each.")
    if len({tuple(scores.scoring.digest for scores in arrays) for arrays in seeds}) > 1:
        raise InvalidInput("The seeds hold different scorings; compute the same scorings, in one order, on each.")
    if len({arrays[0].values.shape[0] for arrays in seeds}) > 1:
        raise InvalidInput("The seeds have different numbers of queries; sample the same number for each.")
    for arrays in seeds:
        first = arrays[0]
        for scores in arrays[1:]:
            same_problem = scores.provenance.get("data") == first.provenance.get("data")
            if scores.values.shape != first.values.shape or not same_problem or not np.array_equal(
                    scores.candidates, first.candidates):
                raise InvalidInput("The score arrays belong to different problems, queries or candidates; compute "
                                   "them on the same problem.")
