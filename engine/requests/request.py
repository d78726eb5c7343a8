"""A question about a drawn problem, declared once: what it is asked with, how it is computed, and what the answer is.

From the declaration come the computation in Python (`run`), the command with its options (`engine.cli.analyses`), the
kind of job with its payload and codec (`engine.requests.job`), and what a front end gets: the answer, or what to wait
for (`Desk.ask`). A new request is one file, and its line in `engine.analysis.catalogue`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, cast

import pandas as pd
from pydantic import Field

from engine.basics import plugins
from engine.basics.errors import InvalidInput, Undifferentiable
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.basics.values import Count
from engine.jobs import Context, Handed, Output, Shares
from engine.problems import Problem, ProblemSource, SampledProblem, build_cached
from engine.problems.handed import handed, take
from engine.question import direction
from engine.requests import codec, effort
from engine.requests.job import Answer, JobRequest
from engine.scoring.scoring import Scoring
from engine.store.results import Result, Store

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

MODEL = "model"
"""What chunks of a problem have in common: the model, and its outputs for data and queries."""
TRAINING = 0.1
"""The fraction of a chunk that its model's training takes, for the time that is left."""


@dataclass(frozen=True)
class Option:
    """What a command does with a field besides an option of the field's name. called: another name, such as the
    singular of several. parts: of a value of several parts those that are options. read: which of `engine.cli.readers`
    reads it."""

    called: str = ""
    parts: tuple[str, ...] = ()
    read: str = ""

    @classmethod
    def of(cls, field: FieldInfo) -> Option:
        """That of a field; a plain one has none of them."""
        return next((one for one in field.metadata if isinstance(one, cls)), cls())


@dataclass(frozen=True)
class Vouched:
    """A file and what the manifest beside it says of it."""

    content: bytes
    record: Mapping[str, Any]


class Request(JobRequest[Answer]):
    """Base of all requests; the fields of a subclass, with their descriptions and bounds, are its parameters.

    suffixes: those of outputs that are not tables (.csv) but arrays (.npz) or a record (.json). vouched: the outputs
    beside which a manifest is written. several: whether the command takes several problems, the seeds of an average.
    shared: whether several chunks begin with the same. outside: whether candidates may be examples that are not in the
    training set. source: what is asked about, where that is not a problem at hand.
    """

    suffixes: ClassVar[Mapping[str, str]] = {}
    vouched: ClassVar[Collection[str]] = ()
    several: ClassVar[bool] = False
    shared: ClassVar[bool] = False
    outside: ClassVar[bool] = False

    source: Annotated[ProblemSource | None, Field(exclude=True)] = None

    def title(self, problem: str) -> str:
        """What a job is called. problem: the title of what it is about."""
        raise NotImplementedError

    def of(self, source: ProblemSource) -> Self:
        """The request as it is asked of this source: no more than there is of it. Raises `InvalidInput` for new
        candidates where it asks about training examples."""
        if source.outside and not self.outside:
            raise InvalidInput(f"`{self.name}` applies to training examples, but the candidates are new; leave them "
                               "out.")
        return self.model_copy(update={"source": source})

    def of_problem(self, problem: Problem) -> Self:
        """The request as it is asked of a problem that is at hand."""
        return self

    def narrowed(self, problem: Problem) -> Problem:
        """What of the problem takes part."""
        return problem

    @property
    def computed(self) -> Sequence[Scoring]:
        """The scorings that it computes: those among its fields."""
        values = [getattr(self, name) for name in self.options()]
        return [one for value in values for one in (value if isinstance(value, tuple) else (value,))
                if isinstance(one, Scoring)]

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> Answer:
        """One chunk's part of the answer, of this problem. store: what earlier work has left, for what is costly.

        Raises `InvalidInput` for what cannot be asked of it.
        """
        raise NotImplementedError

    def combine(self, parts: Mapping[str, Answer]) -> Answer:
        """The answer from the parts of all chunks: their tables, arrays and tuples one after the other."""
        return codec.joined([parts[chunk] for chunk in self.chunks])

    def quick(self, problem: Problem) -> bool:
        """Whether the answer may be computed while a reader waits."""
        return False

    @property
    def quantities(self) -> Mapping[str, str]:
        """Table or array -> what its signed numbers are, for the manifest."""
        return {}

    def tables(self, answer: Answer, problem: Problem) -> Sequence[pd.DataFrame]:
        """What the command writes, in the order of `outputs`."""
        values = (getattr(answer, one.name) for one in fields(cast(Any, answer)))
        return [value for value in values if isinstance(value, pd.DataFrame)]

    def written(self, answer: Answer, problem: Problem, output: str) -> Any:
        """What the command writes for one of `outputs`: a table, a record, or a `Vouched`."""
        return self.tables(answer, problem)[list(self.outputs).index(output)]

    def of_command(self, problem: Problem) -> Self:
        """The request as a command asks it of a problem."""
        return self

    def before(self, problem: Problem) -> Iterable[str]:
        """What the command says before it begins."""
        return ()

    def remarks(self, answer: Answer) -> Iterable[str]:
        """What it says beside that, on stderr."""
        return ()

    def run(self, problem: Problem, options: Options | None = None, store: Store | None = None) -> Answer:
        """The answer, computed in this process; an answer of chunks as a job would give it."""
        self._check_candidates(problem)
        request = self.of_problem(problem)
        return request.together(request.narrowed(problem), options or Options(), store or Store())

    def _check_candidates(self, problem: Problem) -> None:
        if not self.outside:
            problem.check_trained(problem.candidates, f"`{self.name}` asks")

    def together(self, problem: Problem, options: Options, store: Store) -> Answer:
        """The answer in one process, where nothing is stored in between: one chunk after the other, or in one piece
        where that is faster."""
        weights = {chunk: self.weight(chunk) for chunk in self.chunks}
        total, done, parts = sum(weights.values()), 0.0, {}
        for chunk, weight in weights.items():
            parts[chunk] = self.compute(problem, chunk, options.between(done / total, (done + weight) / total), store)
            done += weight
        return self.combine(parts)

    @property
    def origin(self) -> ProblemSource:
        """The source. Raises `InvalidInput` where the request is of none yet."""
        if self.source is None:
            raise InvalidInput(f"`{self.name}` has no problem; give one with `of(source)`.")
        return self.source

    @property
    def job_title(self) -> str:
        return self.title(self.origin.title)

    @property
    def contents(self) -> Mapping[str, str]:
        return self.origin.contents

    @property
    def payload(self) -> dict[str, Any]:
        return {"source": self.origin.model_dump(mode="json"), **super().payload}

    @property
    def unit(self) -> float:
        """What the scorings that it computes take, of all candidates, and its trainings."""
        source = self.origin
        return (effort.scoring_seconds(source, self.computed, source.most_candidates or effort.USUAL)
                + self.trainings * effort.training_seconds(source))

    @property
    def trainings(self) -> float:
        """How many models a chunk of weight 1 trains besides."""
        return 0.0

    @property
    def seconds(self) -> float:
        """With the training where the model is not trained yet."""
        training = 0.0 if self.origin.is_trained else effort.training_seconds(self.origin)
        return super().seconds + training

    @property
    def involves(self) -> tuple[str, ...]:
        source = self.origin
        return source.model, source.dataset, *sorted({one.process.kind for one in self.computed})

    def check_queued(self) -> None:
        check_queued(self.computed)

    def sampled(self, context: Context, fraction: float = TRAINING) -> SampledProblem:
        """The drawn problem, trained where it was not yet; its training is the first `fraction` of the chunk."""
        return build_cached(self.origin, context.device, check=context.check,
                          progress=lambda done: context.progress(fraction * done, "training the model"))

    def run_chunk(self, chunk: str, context: Context) -> Output:
        problem = self.narrowed(self.sampled(context).problem)
        self._check_candidates(problem)
        facts = {"data": problem.fingerprint, "device": device_name(str(problem.device)), "refused": ""}
        try:
            output = self.stored(self.compute(problem, chunk, context.computing(self.doing, TRAINING), context.store))
        except Undifferentiable as error:
            return Output(manifest={**facts, "refused": str(error)})
        return output.stating(facts)

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        manifests = [chunks[key].manifest for key in self.chunks]
        refused = next((one["refused"] for one in manifests if one["refused"]), "")
        source = self.origin
        facts = {"data": manifests[0]["data"], "device": manifests[0]["device"],
                 "source": source.model_dump(mode="json"), "seeds": [source.seed], "refused": refused}
        if refused:
            return Output(manifest=facts)
        answer = self.stored(self.combine({key: self.loaded(chunks[key]) for key in self.chunks}))
        quantities = {direction.QUANTITY: dict(self.quantities)} if self.quantities else {}
        return answer.stating({**facts, **quantities})

    @classmethod
    def answered(cls, result: Result) -> Answer | str:
        return str(result.manifest["refused"]) if result.manifest.get("refused") else cls.loaded(result)

    @classmethod
    def shares(cls) -> Shares | None:
        return Shares(lambda data, key: cls.of_payload(data).begins_with(key),
                      lambda data, *rest: cls.of_payload(data).make(*rest),
                      lambda data, *rest: cls.of_payload(data).take(*rest)) if cls.shared else None

    def begins_with(self, chunk: str) -> Sequence[str]:
        return (MODEL,)

    def make(self, name: str, taken: Handed, context: Context) -> Handed:
        """The trained model with its outputs."""
        problem = self.sampled(context, 0.9).problem
        problem.prepare()
        return handed(problem, taken)

    def take(self, parcels: Handed, context: Context) -> None:
        take(self.sampled(context, 0.0).problem, parcels)

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        return {name: field for name, field in super().options().items() if name != "source"}

    @property
    def words(self) -> list[str]:
        """The options of the command that differ from their defaults; a scoring stands in a file."""
        said: list[str] = []
        for name, field in self.options().items():
            value, parts = getattr(self, name), Option.of(field).parts
            if value != field.default and not isinstance(value, Scoring):
                for option, one in ({one: getattr(value, one) for one in parts} or {name: value}).items():
                    said += [f"--{option.replace('_', '-')}", str(one)]
        return said


def check_queued(scorings: Sequence[Scoring]) -> None:
    """Raises `InvalidInput` for what a worker, which is another process, cannot compute."""
    for name in {scoring.behavior for scoring in scorings if scoring.readout.own and not scoring.readout.plugin}:
        raise InvalidInput(f"The behavior `{name}` is known to this process only, but a worker must compute this; "
                           f"register it in a module that {plugins.VARIABLE} names, or use fewer candidates.")


@dataclass(frozen=True, eq=False)
class Table:
    """An answer that is one table."""

    whole: pd.DataFrame


class OfCandidates(Request[Answer]):
    """A request about the first of the drawn candidates."""

    candidates: Annotated[Count | None, Field(ge=1, description="Number of candidates (default: all).")] = None

    def of(self, source: ProblemSource) -> Self:
        most = source.most_candidates
        request = super().of(source)
        return request._up_to(most) if most else request

    def of_problem(self, problem: Problem) -> Self:
        return self._up_to(len(problem.candidates))

    def _up_to(self, most: int) -> Self:
        return self.model_copy(update={"candidates": min(self.candidates or most, most)})

    def narrowed(self, problem: Problem) -> Problem:
        return problem if self.candidates is None else problem.with_candidates(problem.candidates[:self.candidates])

    @property
    def count(self) -> int:
        """How many candidates take part, of a request that is asked of a source."""
        return cast(int, self.candidates)
