"""The score of one record taken apart, as a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from engine.applications.language import shading, stages
from engine.applications.language.run import Attributed, AttributionRequest
from engine.jobs import Context, Output
from engine.requests import WHOLE, JobRequest
from engine.store.results import Result


class TokensRequest(JobRequest[Attributed]):
    """The scores of one record of a run, by its row, taken apart into its tokens: the table `tokens`."""

    name: ClassVar = "language_tokens"

    run: AttributionRequest
    record: int

    @property
    def job_title(self) -> str:
        return f"Tokens of record {self.record} · {self.run.job_title}"

    @property
    def payload(self) -> dict[str, Any]:
        return {"run": self.run.payload, "record": self.record}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        return cls(run=AttributionRequest.of_payload(payload["run"]), record=payload["record"])

    def check_contents(self, payload: Mapping[str, Any]) -> None:
        self.run.check_contents(payload["run"])

    def run_chunk(self, chunk: str, context: Context) -> Output:
        """What the run cached is found on disk, or computed again."""
        attribution = stages.trained(self.run.attribution(context), context, 0.5)
        features = attribution.features(self.run.queries(attribution))
        return shading.shaded(attribution, features, lambda method, name: [self.record], context)

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        return Output({"tokens": chunks[WHOLE].table("tokens")}, manifest={
            "spec": {"settings": self.run.settings}, "seeds": [self.run.seed]})

    @classmethod
    def loaded(cls, result: Result) -> Attributed:
        return Attributed.of(result)
