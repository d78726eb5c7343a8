"""Scores as a library's user reads them: a table, the top of a query's ranking, a chart."""

from __future__ import annotations

from dataclasses import dataclass, fields

import altair as alt
import numpy as np
import pandas as pd

from engine.basics.errors import InvalidInput
from engine.problems import Problem
from engine.scoring.scores import Scores as EngineScores
from whichfluence.charts import themed

SHOWN = 5


@dataclass(frozen=True, eq=False)
class Scores(EngineScores):
    """Influence scores `values` (m queries, k candidates), raw in the sense of the estimand (paper, Eq. 1):
    B(q; θ_k^cf) − B(q; θ_D), or dB/dα of an infinitesimal intervention.

    `oriented` has the sign turned where the intervention takes weight from the example, so that a positive number
    always means that the example supports the behavior. candidates (k,): indices of training examples, and from n on
    of new candidates. converged (k,): which of them met the tolerance of their computation. provenance: the manifest.
    problem: what they are of.

    >>> import whichfluence as wf
    >>> step = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.01))
    >>> scores = wf.influence(wf.draw("digits", n_train=60, n_queries=5, n_candidates=8), step)
    >>> len(scores.top(query=0, k=3)), scores.to_frame().shape
    (3, (40, 5))
    """

    problem: Problem | None = None

    @classmethod
    def of(cls, scores: EngineScores, problem: Problem) -> Scores:
        """Scores of the engine, with the problem that they are of."""
        held = {field.name: getattr(scores, field.name) for field in fields(EngineScores)}
        return cls(**held, problem=problem)

    def to_frame(self) -> pd.DataFrame:
        """One row a query and candidate: query, candidate, score, oriented, converged."""
        m, k = self.values.shape
        return pd.DataFrame({
            "query": np.repeat(np.arange(m), k), "candidate": np.tile(self.candidates, m),
            "score": self.values.ravel(), "oriented": self.oriented.ravel(), "converged": np.tile(self.converged, m)})

    def top(self, query: int = 0, k: int = SHOWN, *, supporting: bool = True) -> pd.DataFrame:
        """The k candidates that support the behavior at a query most, or with `supporting=False` oppose it most.

        Columns: candidate, score, oriented; the largest first, of equal ones the earlier candidate. Raises
        `InvalidInput` for a query that there is not.
        """
        if not 0 <= query < len(self.values):
            raise InvalidInput(f"There is no query {query}; choose one from 0 to {len(self.values) - 1:,}.")
        own = np.where(self.converged, self.oriented[query], np.nan)
        order = np.argsort(-own if supporting else own, kind="stable")
        order = order[~np.isnan(own[order])][:k]
        return pd.DataFrame({"candidate": self.candidates[order], "score": self.values[query, order],
                             "oriented": self.oriented[query, order]})

    def plot(self, query: int = 0, k: int = 10) -> alt.Chart:
        """The k candidates that support the behavior at a query most, and the k that oppose it most, as bars."""
        frame = pd.concat([self.top(query, k), self.top(query, k, supporting=False)]).drop_duplicates("candidate")
        return themed(alt.Chart(frame, title=self.scoring.title).mark_bar().encode(
            x=alt.X("oriented:Q", title="score (positive: supports the behavior)"),
            y=alt.Y("candidate:N", title="training example", sort="-x"),
            tooltip=["candidate:N", alt.Tooltip("score:Q", format=".3g")]))

    def __repr__(self) -> str:
        m, k = self.values.shape
        state = self.convergence.summary
        return f"Scores({self.scoring.title}: {m:,} queries × {k:,} candidates; {state})"

    def _repr_html_(self) -> str:
        question = self.scoring.question.replace("<", "&lt;")
        return f"<p>{question}</p>{self.top().to_html(index=False)}"
