"""How far rankings agree, and why they differ: different questions, or a bad answer to the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from app.charts.heatmap import heatmap
from engine.analysis.comparison import Comparison
from engine.analysis.comparison import compare as compared
from engine.basics.errors import InvalidInput
from engine.metrics.agreement import METRICS
from engine.scoring.verdict import Verdict
from whichfluence.charts import themed
from whichfluence.external import Imported
from whichfluence.scores import Scores
from whichfluence.widgets import explored, widget

FRACTION = 0.05


@dataclass(frozen=True, eq=False)
class Agreement:
    """All pairs of named scores compared query by query.

    Kendall τ-b, top-5% overlap and sign agreement, each the mean over queries with its 95% t-interval.

    >>> import whichfluence as wf
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    >>> problem = wf.draw("digits", n_train=60, n_queries=5, n_candidates=20)
    >>> agreement = wf.compare(wf.influence(problem, {"exact": step, "first order": step.by("first_order")}))
    >>> agreement.tau("exact", "first order") > 0.9
    True
    """

    comparison: Comparison
    scores: Mapping[str, Scores]

    @property
    def names(self) -> tuple[str, ...]:
        return self.comparison.names

    def to_frame(self) -> pd.DataFrame:
        """One row a pair and metric: a, b, metric, mean, ci95, n_queries, n_dropped, verdict, …"""
        return self.comparison.table()

    def tau(self, a: str, b: str) -> float:
        """Kendall τ-b of two rankings, the mean over queries."""
        return self.comparison.agreement("kendall_tau", *self._pair(a, b)).mean

    def overlap(self, a: str, b: str) -> float:
        """The fraction of the highest 5% that two rankings have in common, the mean over queries."""
        return self.comparison.agreement("top_overlap", *self._pair(a, b)).mean

    def signs(self, a: str, b: str) -> float:
        """The fraction of candidates whose scores have the same sign in both, the mean over queries."""
        return self.comparison.agreement("sign_agreement", *self._pair(a, b)).mean

    def verdict(self, a: str, b: str) -> Verdict:
        """Why two may differ: derived from specifications and estimators. `differs` holds the axes among B, P, T."""
        first, second = self._pair(a, b)
        return self.comparison.verdicts[first][second]

    def plot(self, metric: str = "kendall_tau") -> alt.LayerChart:
        """The matrix of Compare: `kendall_tau`, `top_overlap` or `sign_agreement` of every pair."""
        return themed(self._matrix(metric))

    def explore(self, k: int = 5, metric: str = "kendall_tau") -> alt.HConcatChart:
        """The matrix beside two rankings: choose a query, two specifications, by menus or by a click on a cell, and how
        many candidates of each end are shown; a click on a bar marks its candidate in both.

        Raises `InvalidInput` for k above 25, and for too many queries and specifications for one chart.
        """
        return explored(self._matrix(metric), self.scores, k)

    def widget(self, k: int = 5, metric: str = "kendall_tau") -> Any:
        """The same as Altair's `JupyterChart`, an anywidget: `params.query` and `selections.cell` say what is chosen.
        Raises `InvalidInput` where anywidget is not installed."""
        return widget(self.explore(k, metric))

    def _matrix(self, metric: str) -> alt.LayerChart:
        cells = [self._cell(row, column, METRICS[metric].name) for row in range(len(self.names))
                 for column in range(len(self.names))]
        candidates = next(iter(self.scores.values())).values.shape[1]
        return heatmap(pd.DataFrame(cells), METRICS[metric].name, METRICS[metric].chance(candidates, FRACTION))

    def _cell(self, row: int, column: int, metric: str) -> dict[str, object]:
        agreement = self.comparison.agreement(metric, row, column)
        spread = "" if np.isnan(agreement.ci95) else f" ± {agreement.ci95:.3f}"
        return {"row": row, "column": column, "first": self.names[row], "second": self.names[column],
                "mean": agreement.mean, "value": f"{agreement.mean:.2f}", "agreement": f"{agreement.mean:.3f}{spread}",
                "verdict": self.comparison.verdicts[row][column].headline, "chosen": False}

    def _pair(self, a: str, b: str) -> tuple[int, int]:
        for name in (a, b):
            if name not in self.names:
                known = ", ".join(f"`{one}`" for one in self.names)
                raise InvalidInput(f"No scores are named `{name}`; there are {known}.")
        return self.names.index(a), self.names.index(b)

    def __str__(self) -> str:
        rows = self.to_frame()
        shown = pd.DataFrame({"a": rows.a, "b": rows.b, "metric": [METRICS[name].title for name in rows.metric],
                              "agreement": [f"{mean:.3f} ± {ci95:.3f}" for mean, ci95 in
                                            zip(rows["mean"], rows.ci95, strict=True)], "verdict": rows.verdict})
        return shown.to_string(index=False)

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(index=False)


def compare(scores: Mapping[str, Scores | Imported] | Sequence[Scores]) -> Agreement:
    """Compare scores of one problem pair by pair.

    Args:
        scores: names with scores of `wf.influence` or `wf.imported`, or a list of scores, named by their titles.

    Raises:
        InvalidInput: for fewer than two, scores of different problems, and imported ones alone.

    >>> import whichfluence as wf
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    >>> problem = wf.draw("digits", n_train=60, n_queries=5, n_candidates=20)
    >>> agreement = wf.compare(wf.influence(problem, {"exact": step, "first order": step.by("first_order")}))
    >>> agreement.verdict("exact", "first order").differs
    frozenset()
    """
    named = scores if isinstance(scores, Mapping) else {one.scoring.title: one for one in scores}
    problem = next((one.problem for one in named.values() if isinstance(one, Scores) and one.problem), None)
    if len(named) < 2 or problem is None:
        raise InvalidInput("There is nothing to compare; give two or more scores under different names, one of them at "
                           "least computed by `wf.influence`.")
    held = {name: one.of(problem, name) if isinstance(one, Imported) else one for name, one in named.items()}
    return Agreement(compared([list(held.values())], list(held), problem=type(problem)), held)
