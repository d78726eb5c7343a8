"""Records that a model was not fine-tuned on, scored by the methods whose intervention adds, or asks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import pandas as pd

from engine.applications.language.attribution import Attribution
from engine.applications.language.methods import pairs
from engine.applications.language.of_run import OfRunRequest
from engine.applications.language.run import AttributionRequest, column
from engine.data.records import Record
from engine.jobs import Context, Output
from engine.scoring.aggregate import Mean


class NewRecordsRequest(OfRunRequest):
    """Score records outside the training set of a run: the table `records`, a row for each."""

    name: ClassVar = "language_new_records"

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

    def computed(self, attribution: Attribution, context: Context) -> Output:
        features = attribution.features(self.run.queries(attribution), self.records, context.check)
        scores = {column(method.name, behavior, self.run.setting.layer): Mean().over(method.score(features, behavior))
                  for method, behavior in pairs(features.behaviors)
                  if (scoring := method.scoring(behavior)) is None or scoring.intervention.adds}
        rows = [{"record": row, "id": record.id, "prompt": record.prompt, "response": record.response}
                for row, record in enumerate(self.records)]
        return Output({"records": pd.DataFrame(rows).assign(**scores)})
