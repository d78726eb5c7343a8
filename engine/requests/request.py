"""A question about a drawn problem, declared once: what it is asked with, how it is computed, and what the answer is.

From the declaration come the computation in Python (`run`), the command with its options (`engine.cli.analyses`), the
kind of job with its payload and codec (`engine.requests.job`), and what a front end gets: the answer, or what to wait
for (`Desk.ask`). A new request is one file, and its line in `engine.analysis.catalogue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self, TypeVar, cast

from pydantic import Field

from engine.basics import plugins
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Value
from engine.jobs import Output
from engine.jobs.kinds import of_table
from engine.problems import Problem, ProblemSource
from engine.requests import codec
from engine.scoring.scoring import Scoring
from engine.store.results import Result, Store
from engine.store.sketch import Sketch

if TYPE_CHECKING:
    import pandas as pd
    from pydantic.fields import FieldInfo

Answer = TypeVar("Answer")
WHOLE = "whole"
"""The one chunk of what is computed in one piece."""


@dataclass(frozen=True)
class Shown:
    """Says of a field that holds a value of several parts which of them a command has as options."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, field: FieldInfo) -> tuple[str, ...]:
        """The parts of a field that are options; none of a plain field."""
        return next((one.names for one in field.metadata if isinstance(one, cls)), ())


class Request(Value, Generic[Answer]):
    """Base of all requests; the fields of a subclass, with their descriptions and bounds, are its parameters.

    name: of the kind of job, and of the command where `command` has no other. answer: the dataclass of the answer; its
    fields are tables, arrays, and plain values, which `engine.requests.codec` stores by their names. numerics: raised
    where the numbers change, so that stored answers are told apart. doing: what a progress bar says. outputs: option
    of the command -> what the table is that it writes; the first is needed, and without any there is no command.
    shared: whether several chunks begin with the same trained model.
    """

    name: ClassVar[str]
    command: ClassVar[str] = ""
    answer: ClassVar[type]
    numerics: ClassVar[int] = 1
    doing: ClassVar[str]
    outputs: ClassVar[Mapping[str, str]] = {}
    shared: ClassVar[bool] = False

    def title(self, problem: str) -> str:
        """What a job is called. problem: the title of what it is about."""
        raise NotImplementedError

    def of(self, source: ProblemSource) -> Self:
        """The request as it is asked of this source: no more than there is of it."""
        return self

    def of_problem(self, problem: Problem) -> Self:
        """The request as it is asked of a problem that is at hand."""
        return self

    def narrowed(self, problem: Problem) -> Problem:
        """What of the problem takes part."""
        return problem

    @property
    def computed(self) -> Sequence[Scoring]:
        """The scorings that it computes."""
        return ()

    @property
    def chunks(self) -> list[str]:
        """Pieces that are computed, stored and repeated by themselves, in their order."""
        return [WHOLE]

    def weight(self, chunk: str) -> float:
        """How long a chunk takes, relative to the others."""
        return 1.0

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Answer:
        """One chunk's part of the answer, of this problem. store: what earlier work has left, for what is costly.

        Raises `InvalidInput` for what cannot be asked of it.
        """
        raise NotImplementedError

    def combine(self, parts: Mapping[str, Answer]) -> Answer:
        """The answer from the parts of all chunks."""
        return parts[WHOLE]

    def quick(self, problem: Problem) -> bool:
        """Whether the answer may be computed while a reader waits."""
        return False

    @property
    def quantities(self) -> Mapping[str, str]:
        """Table or array -> what its signed numbers are, for the manifest."""
        return {}

    @classmethod
    def sketch(cls, result: Result) -> Sketch | None:
        """What a small picture of a stored answer is drawn from."""
        return of_table(result)

    def tables(self, answer: Answer, problem: Problem) -> Sequence[pd.DataFrame]:
        """What the command writes, in the order of `outputs`."""
        return cast(Any, answer).tables

    def sentences(self, answer: Answer) -> Sequence[str]:
        """What the command says of the answer."""
        return ()

    @classmethod
    def stored(cls, answer: Answer) -> Output:
        """The answer, or a part of it, as a job leaves it."""
        return codec.encode(answer)

    @classmethod
    def loaded(cls, result: Result) -> Answer:
        """What `stored` has left."""
        return codec.decode(cls.answer, result)

    def run(self, problem: Problem, options: Options | None = None, store: Store | None = None) -> Answer:
        """The answer, computed in this process; an answer of chunks as a job would give it."""
        asked = self.of_problem(problem)
        return asked.together(asked.narrowed(problem), options or Options(), store or Store())

    def together(self, problem: Problem, options: Options, store: Store) -> Answer:
        """The answer in one process, where nothing is stored in between: one chunk after the other, or in one piece
        where that is faster."""
        weights = {chunk: self.weight(chunk) for chunk in self.chunks}
        total, done, parts = sum(weights.values()), 0.0, {}
        for chunk, weight in weights.items():
            parts[chunk] = self.compute(problem, chunk, options.between(done / total, (done + weight) / total), store)
            done += weight
        return self.combine(parts)

    def payload(self, source: ProblemSource) -> dict[str, Any]:
        """What determines the answer: source, parameters, and the version of the code."""
        asked = self.of(source)
        return {"source": source.model_dump(mode="json"), **asked.parameters(), "contents": source.contents,
                "numerics": self.numerics}

    def parameters(self) -> dict[str, Any]:
        """The fields as JSON."""
        return self.model_dump(mode="json")

    @property
    def words(self) -> list[str]:
        """The options of the command that differ from their defaults; a scoring stands in a file."""
        said: list[str] = []
        for name, field in type(self).model_fields.items():
            value, shown = getattr(self, name), Shown.of(field)
            if value != field.default and not isinstance(value, Scoring):
                parts = {one: getattr(value, one) for one in shown} or {name: value}
                said += [word for part, one in parts.items() for word in (f"--{part.replace('_', '-')}", str(one))]
        return said

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        """The request that a payload was made from."""
        return cls.parse({name: payload[name] for name in cls.model_fields if name in payload})


def check_queued(scorings: Sequence[Scoring]) -> None:
    """Raises `InvalidInput` for what a worker, which is another process, cannot compute."""
    for name in {scoring.behavior for scoring in scorings if scoring.readout.own and not scoring.readout.plugin}:
        raise InvalidInput(f"The behavior `{name}` is known to this process alone, and this takes so long that a "
                           f"worker would compute it; register it in a module that {plugins.VARIABLE} names, or ask "
                           "for fewer candidates.")


class OfCandidates(Request[Answer]):
    """A request about the first of the drawn candidates."""

    candidates: Annotated[Count | None, Field(ge=1, description="How many of the candidates take part (default: all)."
                                              )] = None

    def of(self, source: ProblemSource) -> Self:
        drawn = source.n_candidates or source.n_train
        return self._up_to(drawn) if drawn else self

    def of_problem(self, problem: Problem) -> Self:
        return self._up_to(len(problem.candidates))

    def _up_to(self, drawn: int) -> Self:
        return self.model_copy(update={"candidates": min(self.candidates or drawn, drawn)})

    def narrowed(self, problem: Problem) -> Problem:
        return problem if self.candidates is None else problem.with_candidates(problem.candidates[:self.candidates])

    @property
    def count(self) -> int:
        """How many candidates take part, of a request that is asked of a source."""
        return cast(int, self.candidates)
