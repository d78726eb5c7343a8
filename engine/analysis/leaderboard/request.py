"""A leaderboard as a request: chunks that leave arrays, and the board that is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import pandas as pd
from pydantic import Field

from engine.analysis.leaderboard import chunks as parts_of
from engine.analysis.leaderboard.board import COLUMNS, board
from engine.analysis.leaderboard.chunks import SIZE
from engine.analysis.leaderboard.questions import DAMPING, answering, behavior_of, questions, scorings
from engine.analysis.scorecard.benchmark import CEILING, Sizes
from engine.analysis.scorecard.card import with_half
from engine.analysis.scorecard.sized import SizedRequest
from engine.analysis.subset_bank import Draw
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Number
from engine.jobs import Output
from engine.problems import PROBLEMS, Problem
from engine.requests import Option
from engine.scoring.scoring import Scoring
from engine.store.results import Result, Store

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

SIZES = Sizes(models=50, fractions=(0.5,), queries=10, removed=(0.1,), seeds=2, top=10)


@dataclass(frozen=True)
class Leaderboard:
    """board: a row a method, column and question (`engine.analysis.leaderboard.board`). arrays: of a chunk, what it
    has measured, by name; the whole has none."""

    board: pd.DataFrame
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def tables(self) -> list[pd.DataFrame]:
        return [self.board]


class LeaderboardRequest(SizedRequest[Leaderboard]):
    """Compare all named methods by exact answers, models on subsets, tail patches, removals, time and memory.

    methods: names; none: all that answer for the model. A method that the model has no answer for, or that is estimated
    to take longer than `most_seconds`, stands there with the reason. Raises `InvalidInput` for names that are not known
    or that do not fit.
    """

    name: ClassVar = "leaderboard"
    doing: ClassVar = "methods and exact answers"
    outputs: ClassVar = {"out": "Output board, one row per method, column and question."}

    sizes: Annotated[Sizes, Option(parts=("models", "queries", "top", "seed", "protocol", "among"))] = SIZES
    behavior: Annotated[str, Field(description="Behaviors; see `list`.")] = "query_loss"
    methods: Annotated[tuple[str, ...], Option("method"), Field(description=(
        "A named method; repeatable (default: all that the model has)."))] = ()
    damping: Annotated[Number, Field(ge=0, description="Damping of local responses, if training has no single optimum."
                                     )] = DAMPING
    most_seconds: Annotated[float, Field(ge=0, description=(
        "Estimated seconds above which a method or an exact answer is left out."))] = 3600.0
    kind: Annotated[str, Field(exclude=True, description="Of the problem.")] = ""

    def title(self, problem: str) -> str:
        return f"Leaderboard of {problem}"

    def fitted(self, problem: type[Problem]) -> Self:
        known = answering(problem)
        for name in self.methods:
            if name not in known:
                raise InvalidInput(f"`{name}` is not defined for {problem.noun}; choose from {', '.join(known)}.")
        return self.model_copy(update={"methods": self.methods or tuple(known), "kind": problem.kind,
                                       "behavior": behavior_of(self.behavior, problem)})

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """Without what the problem says of itself."""
        return {name: one for name, one in super().options().items() if name != "kind"}

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        request = super().of_payload(payload)
        return request.fitted(request.origin.problem_class)

    @property
    def chunks(self) -> list[str]:
        kind = PROBLEMS[self.kind]
        return parts_of.chunks(self.methods, len(questions(kind, self._scorings())), self.sizes, kind.convex)

    def _scorings(self, checkpoints: int = 1) -> dict[str, Scoring]:
        return scorings(PROBLEMS[self.kind], self.methods, self.behavior, self.damping, checkpoints)

    def weight(self, chunk: str) -> float:
        """In trainings, of which a method takes a few for its own scores."""
        removals = len(self.sizes.removed) * self.sizes.queries
        return {"models": self.sizes.models, "beside": parts_of.GROUPS * len(self.sizes.removed),
                "exact": 10.0, "method": 5.0 + removals}[chunk.partition("/")[0]]

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Leaderboard:
        task = parts_of.Task(problem, self.methods, self.behavior, self.damping, self.sizes, self.most_seconds, store)
        return Leaderboard(pd.DataFrame(), {**parts_of.measure(task, chunk, options), **parts_of.described(problem)})

    def combine(self, parts: Mapping[str, Leaderboard]) -> Leaderboard:
        arrays = {name: own for part in parts.values() for name, own in part.arrays.items()}
        n, k, checkpoints = (int(one) for one in arrays[SIZE])
        scored = self._scorings(checkpoints)
        measures = [Draw(share=share, among=self.sizes.among).description(n, k) for share in self.sizes.fractions]
        return Leaderboard(board(scored, questions(PROBLEMS[self.kind], scored), self.sizes, arrays, measures))

    def sentences(self, answer: Leaderboard) -> Iterator[str]:
        """The best of each column, beside what another seed's exact answer has."""
        for name, column in COLUMNS.items():
            own = answer.board[(answer.board["column"] == name) & (answer.board["method"] != CEILING)]
            own = own[own["own"]] if name == "agreement" else own
            own = own.dropna(subset=["mean"])
            if len(own):
                best = own.loc[own["mean"].idxmax() if column.better == "larger" else own["mean"].idxmin()]
                yield f"{column.title}: best is {best['title']}, {with_half(best['mean'], best['ci95'])}."

    @classmethod
    def stored(cls, answer: Leaderboard) -> Output:
        return Output({"board": answer.board} if len(answer.board) else {}, dict(answer.arrays))

    @classmethod
    def loaded(cls, result: Result) -> Leaderboard:
        table = result.table("board") if "board" in result.tables else pd.DataFrame()
        return Leaderboard(table, result.arrays())
