r"""One setting of an approximation turned: how its agreement with the exact answer, and its time, change with it.

    value v  ->  τ, top overlap and sign agreement of  s_v  and  s,     s_v the scores with the setting at v,
                                                                        s the exact scores of the same question

each the mean over queries with a 95% t interval; seconds are those that computing s_v took in this process, after the
exact answer, so that what all values share (the candidates' gradients, factors) is not counted in any of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine.analysis.error_curves import agreement
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.settings import Settings, declared, parsed
from engine.estimators import ESTIMATORS, settings_of, written
from engine.metrics.agreement import METRICS, summarize
from engine.problems import Problem
from engine.requests import OfCandidates
from engine.requests.fields import StoredScoring
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Store

FEWEST, MOST = 2, 24
STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Of the default, where no values are given."""


@dataclass(frozen=True)
class SettingSweep:
    """kendall_tau, top_overlap, sign_agreement (values, m): of each value and query; seconds (values,)."""

    kendall_tau: np.ndarray
    top_overlap: np.ndarray
    sign_agreement: np.ndarray
    seconds: np.ndarray


class SettingSweepRequest(OfCandidates[SettingSweep]):
    """Vary one setting of an approximation: agreement with the exact answer, and time, at each value.

    Raises `InvalidInput` for an estimator without that setting, and for values that it does not take.
    """

    name: ClassVar = "setting-sweep"
    doing: ClassVar = "values of the setting"
    outputs: ClassVar = {"out": "Output table, one row per value and metric."}
    shared: ClassVar = True

    scoring: StoredScoring
    vary: Annotated[str, Field(description="The setting of the estimator to vary; see `list`.")]
    values: Annotated[str, Field(description="The values, separated by commas (default: a tenth to ten times the "
                                             "default, or all allowed texts).")] = ""

    def title(self, problem: str) -> str:
        return f"{self.scoring.route.title} over {self.vary.replace('_', ' ')} on {problem}"

    @cached_property
    def turned(self) -> dict[str, Scoring]:
        """Chunk -> the scoring at its value, in their order."""
        name, given = parsed(self.scoring.estimator)
        return {str(value): Scoring.of(self.scoring.behavior, self.scoring.intervention, self.scoring.process,
                                       written({"name": name, **given, self.vary: value})) for value in self.grid}

    @property
    def grid(self) -> list[Any]:
        """The values, as numbers where they are. Raises `InvalidInput` for fewer than two, or too many."""
        name, given = parsed(self.scoring.estimator)
        own = settings_of(ESTIMATORS[name], given)
        if own is None or self.vary not in type(own).model_fields:
            known = ", ".join(f"`{field}`" for field in type(own).model_fields) if own else "none"
            raise InvalidInput(f"The estimator `{name}` has no setting `{self.vary[:40]}`; it has {known}.")
        default = getattr(own, self.vary)
        if self.values:
            texts = [text.strip() for text in self.values.split(",") if text.strip()]
            values = [getattr(type(own).read({**given, self.vary: text}, name), self.vary) for text in texts]
        elif isinstance(default, str):
            values = list(declared(type(own))[self.vary].options)
        else:
            values = _fitting(own, self.vary, default)
        values = list(dict.fromkeys(values))
        if not FEWEST <= len(values) <= MOST:
            raise InvalidInput(f"A sweep has {FEWEST} to {MOST} values; give as many.")
        return values

    @property
    def computed(self) -> Sequence[Scoring]:
        return [self.scoring.exact_answer, *self.turned.values()]

    @property
    def chunks(self) -> list[str]:
        return list(self.turned)

    def weight(self, chunk: str) -> float:
        name, given = parsed(self.turned[chunk].estimator)
        settings = settings_of(ESTIMATORS[name], given)
        return 1.0 if settings is None else settings.effort

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> SettingSweep:
        scoring = self.turned[chunk]
        exact = problem.memo(f"sweep:{self.scoring.exact_answer.digest}:{len(problem.candidates)}",
                             lambda: compute(problem, self.scoring.exact_answer, options.between(0, 0.5))[0])
        start = time.perf_counter()
        scores = compute(problem, scoring, options.between(0.5, 1))[0]
        seconds = time.perf_counter() - start
        values = _agreement(exact, scores)
        return SettingSweep(values["kendall_tau"][None], values["top_overlap"][None], values["sign_agreement"][None],
                            np.array([seconds]))

    def tables(self, answer: SettingSweep, problem: Problem) -> list[pd.DataFrame]:
        return [self.table(answer)]

    def table(self, answer: SettingSweep) -> pd.DataFrame:
        """setting, value, metric, mean, ci95, n_queries, n_dropped, seconds."""
        rows = []
        for index, value in enumerate(self.grid):
            for metric in METRICS:
                summary = summarize(getattr(answer, metric)[index], "queries")
                rows.append({"setting": self.vary, "value": value, "metric": metric, **summary.columns,
                             "seconds": answer.seconds[index]})
        return pd.DataFrame(rows)


def _agreement(exact: Scores, scores: Scores) -> Mapping[str, np.ndarray]:
    """NaN where no candidate of the value met its solver's tolerance."""
    if not scores.converged.any():
        return dict.fromkeys(METRICS, np.full(len(scores.values), np.nan))
    return agreement(exact, scores)


def _fitting(own: Settings, setting: str, default: float) -> list[Any]:
    """The steps of a value that the settings' bounds allow."""
    values = []
    for step in STEPS:
        value = max(1, round(default * step)) if isinstance(default, int) else float(f"{default * step:.6g}")
        try:
            type(own)(**{**own.model_dump(), setting: value})
        except InvalidInput:
            continue
        values.append(value)
    return values
