"""The job that trains a network: what a page asks for before it can score, where training takes more than a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from engine import data
from engine.basics.provenance import device_name
from engine.jobs import Context, Output
from engine.models.catalogue import model_title
from engine.problems import ProblemSource
from engine.problems.source import ALL_TOKENS
from engine.requests.job import WHOLE
from engine.requests.request import Request
from engine.store.results import Result


class TrainingRequest(Request[None]):
    """Train the model of a source; how many queries and candidates are drawn does not decide its weights."""

    name: ClassVar = "training"
    outside: ClassVar = True
    unit: ClassVar[float] = 0.0
    """Beside the training."""

    def of(self, source: ProblemSource) -> Self:
        return super().of(source.model_copy(update={"n_test": None, "n_queries": None, "n_candidates": None,
                                                    "new_candidates": "", "tokens": ALL_TOKENS}))

    @property
    def job_title(self) -> str:
        return f"Training {model_title(self.origin.model)} on {data.title(self.origin.dataset)}"

    def run_chunk(self, chunk: str, context: Context) -> Output:
        sampled = self.sampled(context, 0.95)
        return Output(manifest={"facts": dict(sampled.problem.facts), "test_accuracy": sampled.test_accuracy(),
                                "device": device_name(str(sampled.problem.device))})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        trained = chunks[WHOLE].manifest
        return Output(manifest={"source": self.origin.model_dump(mode="json"), "seeds": [self.origin.seed],
                                **{key: trained[key] for key in ("facts", "test_accuracy", "device")}})
