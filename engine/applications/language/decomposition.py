"""The score of one record taken apart, as a job."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Self

import pandas as pd
from pydantic import Field

from engine.applications.language import modules, shading
from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import METHODS
from engine.applications.language.of_run import OfRunRequest
from engine.applications.language.run import Attributed, AttributionRequest
from engine.basics.errors import InvalidInput
from engine.basics.values import Count
from engine.gradients.cached import CachedFeatures
from engine.jobs import Context, Output
from engine.store import exports
from engine.store.results import Result

Row = Annotated[Count, Field(ge=0)]


class TokensRequest(OfRunRequest):
    """Decompose the score of one training record into tokens, layers and attention heads, which sum to it.

    record: its row among the training records. query: the row of the only one whose score is taken apart; by default
    their mean score is. Tables, in each of which the contributions of an estimator and a behavior add up to the score:
    `tokens` of the record, `modules` with attention heads, and with a query `query_tokens`.
    """

    name: ClassVar = "language_tokens"
    numerics: ClassVar = 2
    command: ClassVar = "attribute-record"
    doing: ClassVar = "decomposition"
    outputs: ClassVar = {
        "out": "Contribution of each response token to the score, by estimator and behavior; position −1 is the "
               "optimizer's momentum.",
        "modules": "Contribution of each adapted layer and attention head; head −1 is the rest of a layer.",
        "query_tokens": "Of one query: contribution of each of its response tokens."}

    record: Annotated[Row, Field(description="The training record, by its row in the file of records, counted from 0.")]
    query: Annotated[Row | None, Field(description=(
        "Query whose score is decomposed, counted from 0 (default: the mean over queries)."))] = None

    @property
    def job_title(self) -> str:
        about = "" if self.query is None else f" for query {self.query}"
        return f"Score of record {self.record}{about} · {self.run.job_title}"

    @property
    def payload(self) -> dict[str, Any]:
        query = {} if self.query is None else {"query": self.query}
        return {"run": self.run.payload, "record": self.record, **query, "numerics": self.numerics}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        return cls(run=AttributionRequest.of_payload(payload["run"]), record=payload["record"],
                   query=payload.get("query"))

    def computed(self, attribution: Attribution, context: Context) -> Output:
        queries = self.run.queries(attribution)
        for name, row, there in (("record", self.record, attribution.encoded), ("query", self.query, queries)):
            if row is not None and row >= len(there):
                raise InvalidInput(f"There is no {name} {row}; choose one of 0 to {len(there) - 1:,}.")
        features = attribution.features(queries)
        tables = {"tokens": shading.shaded(attribution, features, lambda method, name: [self.record], context,
                                           self.query),
                  "modules": modules.by_module(attribution, features, self.record, self.query, context.check)}
        if self.query is not None:
            tables["query_tokens"] = self._query_tokens(attribution, features, self.query, context)
        return Output(tables)

    def _query_tokens(self, attribution: Attribution, features: CachedFeatures, query: int, context: Context
                      ) -> pd.DataFrame:
        encoded = attribution.encoder.encode(self.run.queries(attribution)[query])
        words = attribution.encoder.words(encoded)
        return pd.DataFrame([
            {"estimator": method.name, "behavior": behavior, "record": self.record, "place": position, "text": text,
             "contribution": float(value)}
            for method in METHODS.values() if not method.undivided
            for behavior, values in shading.shade_query(attribution, features, method, encoded, query, self.record,
                                                        context.check).items()
            for position, (text, value) in enumerate(zip(words, values, strict=True))])

    def check_outputs(self, outputs: Collection[str]) -> None:
        if "query_tokens" in outputs and self.query is None:
            raise InvalidInput("Contributions of query tokens are defined for one query; name the query.")

    def exported(self, result: Result) -> dict[str, bytes]:
        return {"out" if name == "tokens" else name: exports.csv(result, name) for name in result.tables}

    def sentences(self, answer: Attributed) -> list[str]:
        total = answer.tables["tokens"].groupby(["estimator", "behavior"], sort=False)["contribution"].sum()
        return [total.rename("score").to_string(float_format="{:.6e}".format)]
