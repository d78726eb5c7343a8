"""What requests about a run have in common: its files, its training, and what the result says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from engine.applications.language import stages
from engine.applications.language.attribution import Attribution
from engine.applications.language.run import Attributed, AttributionRequest
from engine.jobs import Context, Output
from engine.requests import WHOLE, JobRequest, Option
from engine.store.results import Result


class OfRunRequest(JobRequest[Attributed]):
    """Base of requests about a run, in one chunk."""

    run: Annotated[AttributionRequest, Option(read="language_run")]

    def computed(self, attribution: Attribution, context: Context) -> Output:
        """The tables, of the run with its checkpoints on disk."""
        raise NotImplementedError

    @property
    def unit(self) -> float:
        return self.run.reading

    @property
    def involves(self) -> tuple[str, ...]:
        return self.run.involves

    def check_contents(self, payload: Mapping[str, Any]) -> None:
        self.run.check_contents(payload["run"])

    def run_chunk(self, chunk: str, context: Context) -> Output:
        """What the run cached is found on disk, or computed again."""
        return self.computed(stages.trained(self.run.attribution(context), context, 0.5), context)

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        return Output({name: chunks[WHOLE].table(name) for name in chunks[WHOLE].tables}, manifest={
            "spec": {"settings": self.run.settings}, "seeds": [self.run.seed]})

    @classmethod
    def loaded(cls, result: Result) -> Attributed:
        return Attributed.of(result)
