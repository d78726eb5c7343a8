"""The scores of a run for each of its queries apart, as a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import METHODS, RecordMethod, pairs
from engine.applications.language.of_run import OfRunRequest
from engine.applications.language.run import AttributionRequest, quantities, score_columns
from engine.basics.errors import InvalidInput
from engine.jobs import Context, Output
from engine.question import direction
from engine.requests import WHOLE
from engine.store.results import Result

USUAL = ("answer_margin", "answer_logit", "explanation_loss", "response_loss")
"""Which behavior is read where none is named: the first of them that the queries allow."""
LARGEST = 50_000_000
"""Numbers that a table may hold, 4 bytes each."""


class QueryScoresRequest(OfRunRequest):
    """Every record's scores for each query of a run: the table `by_query`, a row a query and a record, with the columns
    of the run's `records`, whose values are the means of these over the queries."""

    name: ClassVar = "language_queries"

    @property
    def job_title(self) -> str:
        return f"Scores of each query · {self.run.job_title}"

    @property
    def payload(self) -> dict[str, Any]:
        return {"run": self.run.payload, "numerics": self.numerics}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        return cls(run=AttributionRequest.of_payload(payload["run"]))

    def computed(self, attribution: Attribution, context: Context) -> Output:
        """Raises `InvalidInput` for more than `LARGEST`."""
        features = attribution.features(self.run.queries(attribution))
        queries, records = features.shape
        columns = len(list(pairs(features.behaviors))) + len(features.hidden)
        if queries * records * columns > LARGEST:
            raise InvalidInput(f"{queries:,} queries × {records:,} records under {columns} estimators and behaviors "
                               f"exceed a table of {LARGEST:,} numbers; use fewer queries.")
        index = {"query": np.repeat(np.arange(queries), records), "record": np.tile(np.arange(records), queries)}
        values = {name: scores.astype(np.float32).ravel()
                  for name, scores in score_columns(features, RecordMethod.score)}
        return Output({"by_query": pd.DataFrame(index | values)}, manifest={"behaviors": list(features.behaviors)})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        output = super().finish(chunks, context)
        return Output(output.tables, manifest={**output.manifest, direction.QUANTITY: {
            "by_query": quantities(chunks[WHOLE].manifest["behaviors"])}})


def of_query(records: pd.DataFrame, by_query: pd.DataFrame, query: int) -> pd.DataFrame:
    """The table of a run's records with the scores of one query in place of the means."""
    own = by_query[by_query["query"] == query].sort_values("record").drop(columns=["query", "record"])
    return records.assign(**{name: own[name].to_numpy() for name in own})


def named_column(columns: Sequence[str], behaviors: Sequence[str], method: str, behavior: str) -> str:
    """The column of scores that a method and a behavior name; empty stands for the usual one. Raises `InvalidInput` for
    one that is not there."""
    chosen = METHODS[method or "tracin"]
    reads = behavior or next((name for name in USUAL if name in behaviors), behaviors[-1])
    if chosen.reads and reads not in behaviors:
        raise InvalidInput(f"The behavior `{reads}` is not defined for these queries; choose one of "
                           f"{', '.join(behaviors)}.")
    return next(name for name in reversed(columns) if name.startswith(f"{method or 'tracin'}|") and (
        not chosen.reads or name.endswith(f"|{reads}")))
