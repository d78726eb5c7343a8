r"""The rows of a leaderboard, out of what its chunks measured: a row a method, column and question.

    agreement    Kendall's τ of a query's ranking with the exact answer to a question, its own or another
    lds          linear datamodeling score on models of the same training seed
    lds, other   on models of another training seed
    tail patch   the mean change of the query's probability by a step on each of its top
    removal      the drop of the behavior after training without the top of a query's ranking
    QLD          that drop minus the one without as many random candidates: the query loss difference
    recall       the fraction of the exact top that a method has among twice the share: as the first of two stages
    mrr          1 over the rank of the example whose removal lowers the behavior most
    seconds      CPU seconds of this machine for all scores, with nothing shared
    memory       MB beyond what the process held before

Each with its mean and 95% t interval over queries. The rows of `another_seed` are ceilings: what the exact answers of
another training seed have, which no method that does not know the seed can expect to exceed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.datamodels import linear_datamodeling_score
from engine.analysis.leaderboard.chunks import WHY, reasons
from engine.analysis.leaderboard.questions import with_settings
from engine.analysis.scorecard.benchmark import CEILING, Sizes
from engine.analysis.scorecard.card import CEILING_TITLE
from engine.analysis.scorecard.retrained import agreement_of_banks, jackknife_error
from engine.analysis.scorecard.tail_patch import mean_of_top
from engine.metrics.agreement import pairwise, top_size
from engine.metrics.detection import recall_at, reciprocal_rank
from engine.metrics.intervals import t_interval, t_quantile
from engine.metrics.subsets import over_known
from engine.scoring import codes
from engine.scoring.scoring import Scoring

MEGABYTE = 1e6
RECALLED = 0.05
"""The fraction of candidates that counts as the exact top; twice as many are looked at."""


@dataclass(frozen=True)
class Column:
    """A measure of a method. better: `larger` or `smaller`."""

    name: str
    title: str
    definition: str
    better: str = "larger"


COLUMNS = {one.name: one for one in (
    Column("agreement", "Agreement", "Kendall's τ with the exact answer to a question, mean over queries."),
    Column("lds", "LDS, same seed", "Spearman's ρ of summed scores and models trained on subsets with the same seed."),
    Column("lds_other", "LDS, another seed", "The same with models of another training seed."),
    Column("tail_patch", "Tail patch", "Change of the query's probability by one step on a candidate, mean over the "
           "top of the ranking."),
    Column("removal", "Top removed", "Drop of the behavior after training without the top of the query's ranking."),
    Column("qld", "QLD", "Query loss difference: that drop minus the drop without as many random candidates."),
    Column("recall", "Recall", "Fraction of the exact leave-one-out top 5% among the method's top 10%."),
    Column("mrr", "MRR", "Mean reciprocal rank of the first example of exact leave-one-out."),
    Column("seconds", "CPU seconds", "Time for all scores, with nothing shared between methods.", "smaller"),
    Column("memory", "Memory, MB", "Peak memory beyond what the process used before.", "smaller"))}
KEYS = ["method", "title", "family", "spec", "column", "measure", "against", "own"]


def board(scored: Mapping[str, Scoring], questions: Sequence[Scoring], sizes: Sizes, arrays: Mapping[str, np.ndarray],
          subsets: Sequence[str]) -> pd.DataFrame:
    """All rows. subsets: in words, what each of `sizes.fractions` is trained on."""
    arrays = _with_answers(scored, arrays)
    rows = [row for name, scoring in scored.items()
            for row in _of_method(name, scoring, questions, sizes, subsets, arrays)]
    rows += _ceilings(questions, subsets, arrays)
    return pd.DataFrame(rows, columns=[*KEYS, "mean", "ci95", "n_queries", "n_dropped", "ci95_subsets", "note"])


def _with_answers(scored: Mapping[str, Scoring], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays, with the scores of methods that are exact as the answers to their questions."""
    named = {old + name: new + codes.encode(one) for name, one in scored.items() if one.exact
             for old, new in (("scores|", "exact|"), (WHY, f"{WHY}exact|"))}
    return {**arrays, **{new: arrays[old] for old, new in named.items() if old in arrays}}


def _of_method(name: str, scoring: Scoring, questions: Sequence[Scoring], sizes: Sizes, subsets: Sequence[str],
               arrays: Mapping[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    named, missing = with_settings(name), reasons(arrays)
    first = {"method": name, "title": named.title, "family": named.row, "spec": codes.encode(scoring)}
    if name in missing:
        yield {**first, **_cell("agreement", note=missing[name])}
        return
    own = arrays[f"scores|{name}"]
    if np.isnan(own).all():
        yield {**first, **_cell("agreement", note="None of its scores converged.")}
        return
    yield from ({**first, **row} for row in (
        *_agreements(own, scoring, questions, arrays), *_datamodeling(own, subsets, arrays),
        *_tops(name, own, sizes, arrays), *_recall(own, questions, arrays),
        _cell("seconds", values=arrays[f"seconds|{name}"]),
        _cell("memory", values=arrays[f"memory|{name}"] / MEGABYTE)))


def _agreements(own: np.ndarray, scoring: Scoring, questions: Sequence[Scoring], arrays: Mapping[str, np.ndarray]
                ) -> Iterator[dict[str, Any]]:
    """With each exact answer; of its own question a method with a departure asks another one, which the note says."""
    missing = reasons(arrays)
    for question in questions:
        code = codes.encode(question)
        is_own = scoring.route.implies and scoring.exact_answer == question
        own_note = " ".join(f"It answers for {one.answers_for}." for one in scoring.departures) if is_own else ""
        if f"exact|{code}" in arrays:
            yield _cell("agreement", values=tau(own, arrays[f"exact|{code}"]), against=code, own=is_own, note=own_note)
        else:
            yield _cell("agreement", against=code, own=is_own, note=missing.get(f"exact|{code}", ""))


def _datamodeling(own: np.ndarray, subsets: Sequence[str], arrays: Mapping[str, np.ndarray]
                  ) -> Iterator[dict[str, Any]]:
    summed = np.nan_to_num(own)
    for index, measure in enumerate(subsets):
        members = arrays[f"members|{index}"]
        for later, column in enumerate(("lds", "lds_other")):
            if (outcomes := arrays.get(f"outcomes|{index}|{later}")) is not None:
                error = jackknife_error(summed @ members.T.astype(float), outcomes)
                yield _cell(column, measure, linear_datamodeling_score(summed, outcomes, members),
                            ci95_subsets=t_quantile(len(members)) * error)


def _tops(name: str, own: np.ndarray, sizes: Sizes, arrays: Mapping[str, np.ndarray]) -> Iterator[dict[str, Any]]:
    size = min(sizes.top, own.shape[1])
    yield _cell("tail_patch", f"top {size}", mean_of_top(arrays["patch"], own, size))
    for fraction, lost, random in zip(sizes.removed, arrays[f"removed|{name}"], arrays["without groups"], strict=True):
        yield _cell("removal", f"top {fraction:.0%}", lost)
        yield _cell("qld", f"top {fraction:.0%}", lost - random.mean(0))


def _recall(own: np.ndarray, questions: Sequence[Scoring], arrays: Mapping[str, np.ndarray]
            ) -> Iterator[dict[str, Any]]:
    for question in questions:
        exact = arrays.get(f"exact|{codes.encode(question)}")
        if question.process.kind == "retrain" and exact is not None:
            code = codes.encode(question)
            yield _cell("recall", f"{RECALLED:.0%} in the top {2 * RECALLED:.0%}", recalled(own, exact), against=code)
            yield _cell("mrr", values=reciprocal_ranks(own, exact), against=code)


def recalled(own: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """(m,): of each query the fraction of the exact top (m, k) that is among twice as many of a ranking (m, k)."""
    k = own.shape[1]
    return _detected(lambda flags, row: recall_at(flags, row, top_size(k, 2 * RECALLED)), own, exact,
                     top_size(k, RECALLED))


def reciprocal_ranks(own: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """(m,): of each query 1 over the rank (m, k) of the exact first candidate (m, k)."""
    return _detected(reciprocal_rank, own, exact, 1)


def _detected(measure: Callable[[np.ndarray, np.ndarray], float], own: np.ndarray, exact: np.ndarray, size: int
              ) -> np.ndarray:
    """(m,): how a ranking detects the exact top of `size`; NaN where one of them has no score."""
    return np.array([np.nan if np.isnan(row).all() or np.isnan(right).all() else
                     measure(_in_top(right, size), _lowest(row)) for row, right in zip(own, exact, strict=True)])


def _in_top(row: np.ndarray, size: int) -> np.ndarray:
    flags = np.zeros(len(row), bool)
    flags[np.argsort(-_lowest(row), kind="stable")[:size]] = True
    return flags


def _lowest(row: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(row), -np.inf, row)


def _ceilings(questions: Sequence[Scoring], subsets: Sequence[str], arrays: Mapping[str, np.ndarray]
              ) -> Iterator[dict[str, Any]]:
    first = {"method": CEILING, "title": CEILING_TITLE, "family": "", "spec": ""}
    for code in map(codes.encode, questions):
        if f"exact|{code}" in arrays and f"other|{code}" in arrays:
            yield {**first, **_cell("agreement", values=tau(arrays[f"other|{code}"], arrays[f"exact|{code}"]),
                                    against=code)}
    for index, measure in enumerate(subsets):
        if f"outcomes|{index}|1" in arrays:
            between = agreement_of_banks([arrays[f"outcomes|{index}|{later}"] for later in (0, 1)])
            yield {**first, **_cell("lds_other", measure, between.values[0],
                                    ci95_subsets=t_quantile(between.subsets) * between.subset_error)}


def tau(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(m,): Kendall's τ-b of each query over the candidates that are known in both (m, k)."""
    known = np.isfinite(a) & np.isfinite(b)
    return over_known(lambda stack: {"tau": pairwise(stack, ("kendall",))["kendall"]}, np.stack([a, b]), known
                      )["tau"][0, 1]


def _cell(column: str, measure: str = "", values: np.ndarray | None = None, *, against: str = "", own: bool = False,
          ci95_subsets: float = math.nan, note: str = "") -> dict[str, Any]:
    values = np.empty(0) if values is None else np.asarray(values, dtype=np.float64)
    mean, half = t_interval(values)
    return {"column": column, "measure": measure, "against": against, "own": own, "mean": mean, "ci95": half,
            "n_queries": len(values), "n_dropped": int(np.isnan(values).sum()),
            "ci95_subsets": ci95_subsets, "note": note}
