"""The ends of the ranking of a stream of candidates, as a request."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from engine.basics.csv_text import csv_text
from engine.basics.options import Options
from engine.basics.values import Count
from engine.problems import Problem
from engine.question import direction
from engine.requests import Option, Request, Vouched
from engine.requests.fields import StoredScoring
from engine.scoring.streaming import Streamed, streamed
from engine.store.results import Store


class StreamRequest(Request[Streamed]):
    """Score candidates outside the training set in batches, and write the top and bottom k.

    batches: problems with the next candidates, and these candidates' names.
    """

    name: ClassVar = "stream"
    job: ClassVar = False
    doing: ClassVar = "candidates of the stream"
    outside: ClassVar = True
    outputs: ClassVar = {"out": "The top and bottom candidates of each query's ranking; a manifest .json is written "
                                "beside them."}
    vouched: ClassVar = ("out",)

    scoring: StoredScoring
    batches: Annotated[Any, Option(read="batches")]
    k: Annotated[Count, Field(description="Size of the top and bottom k written for each query.")] = 50

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Streamed:
        return streamed(problem, self.batches, self.scoring, self.k, options)

    def remarks(self, answer: Streamed) -> list[str]:
        return [f"{answer.left_out:,} of {answer.count:,} candidates did not converge, or have scores that are not "
                "finite, and are left out."] if answer.left_out else []

    def written(self, answer: Streamed, problem: Problem, output: str) -> Vouched:
        quantity = direction.named({"score": direction.raw(self.scoring), "oriented": direction.oriented(self.scoring)})
        return Vouched(csv_text(answer.to_frame().assign(**{direction.QUANTITY: quantity})).encode(), answer.provenance)
