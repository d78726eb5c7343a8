"""Records that a model was not fine-tuned on, scored by the methods whose intervention adds, or asks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import pandas as pd

from engine.applications.language import stages
from engine.applications.language.methods import pairs
from engine.applications.language.run import Attributed, AttributionRequest, column
from engine.data.records import Record
from engine.jobs import Context, Output
from engine.requests import WHOLE, JobRequest
from engine.scoring.aggregate import Mean
from engine.store.results import Result


class NewRecordsRequest(JobRequest[Attributed]):
    """Score records outside the training set of a run: the table `records`, a row for each."""

    name: ClassVar = "language_new_records"

    run: AttributionRequest
    records: tuple[Record, ...]

    @property
    def job_title(self) -> str:
        return f"{len(self.records):,} new records · {self.run.job_title}"

    @property
    def payload(self) -> dict[str, Any]:
        return {"run": self.run.payload, "records": [record.model_dump(mode="json") for record in self.records]}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        return cls.parse({"run": AttributionRequest.of_payload(payload["run"]), "records": payload["records"]})

    @property
    def unit(self) -> float:
        return self.run.reading

    @property
    def involves(self) -> tuple[str, ...]:
        return self.run.involves

    def check_contents(self, payload: Mapping[str, Any]) -> None:
        self.run.check_contents(payload["run"])

    def run_chunk(self, chunk: str, context: Context) -> Output:
        """Trains, and computes what the run has not left on disk."""
        attribution = stages.trained(self.run.attribution(context), context, 0.5)
        features = attribution.features(self.run.queries(attribution), self.records, context.check)
        scores = {column(method.name, behavior, self.run.setting.layer): Mean().over(method.score(features, behavior))
                  for method, behavior in pairs(features.behaviors)
                  if (scoring := method.scoring(behavior)) is None or scoring.intervention.adds}
        rows = [{"record": row, "id": record.id, "prompt": record.prompt, "response": record.response}
                for row, record in enumerate(self.records)]
        return Output({"records": pd.DataFrame(rows).assign(**scores)})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        return Output({"records": chunks[WHOLE].table("records")}, manifest={
            "spec": {"settings": self.run.settings}, "seeds": [self.run.seed]})

    @classmethod
    def loaded(cls, result: Result) -> Attributed:
        return Attributed.of(result)
