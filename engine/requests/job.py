"""A job, declared once as the value that it is asked for with.

Its class says how the work falls into chunks, what one of them computes, and how they become a result. The kind of job
that a worker knows (`engine.jobs.JobKind`) is made of it as soon as the class is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from engine.basics.errors import InvalidInput
from engine.basics.values import Value
from engine.jobs import KINDS, Context, JobKind, Output, Progress, Shares, Watch, run_job
from engine.jobs.kinds import of_table
from engine.requests import codec
from engine.store import exports
from engine.store.results import Result
from engine.store.sketch import Sketch

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Answer = TypeVar("Answer")
WHOLE = "whole"
"""The one chunk of what is computed in one piece."""


class JobRequest(Value, Generic[Answer]):
    """Base of all that runs as a job; the fields of a subclass determine the result.

    name: of the kind of job. answer: the dataclass of the answer, that of the base's brackets; its fields are tables,
    arrays, and plain values, which `engine.requests.codec` stores by their names. numerics: raised where the numbers
    change, so that stored answers are told apart. job: whether it is one at all; what is not is a command and a
    function alone. command: the command's name where that is not the job's. doing: what a progress bar says. outputs:
    option of the command -> what it writes; the first is needed, and without any there is no command.
    """

    name: ClassVar[str]
    answer: ClassVar[type] = type(None)
    numerics: ClassVar[int] = 1
    job: ClassVar[bool] = True
    command: ClassVar[str] = ""
    doing: ClassVar[str]
    outputs: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        named = (base.__pydantic_generic_metadata__["args"] for base in cls.__mro__ if issubclass(base, Value))
        cls.answer = next((args[0] for args in named if args), cls.answer)
        if "name" in vars(cls) and cls.job:
            KINDS.add(cls.name, job_kind(cls), replace=True)

    @property
    def job_title(self) -> str:
        """What its job is called."""
        raise NotImplementedError

    @property
    def contents(self) -> Mapping[str, str]:
        """What the names among its fields stand for on this machine, as digests; empty where it is not here."""
        raise NotImplementedError

    @property
    def chunks(self) -> list[str]:
        """Pieces that are computed, stored and repeated by themselves, in their order."""
        return [WHOLE]

    def weight(self, chunk: str) -> float:
        """How long a chunk takes, relative to the others."""
        return 1.0

    @property
    def unit(self) -> float:
        """Seconds that a chunk of weight 1 takes on two idle cores, roughly."""
        return 1.0

    @property
    def seconds(self) -> float:
        """Seconds that all of it takes on two idle cores, roughly; what this machine takes is measured against it."""
        return self.unit * sum(map(self.weight, self.chunks))

    @property
    def involves(self) -> tuple[str, ...]:
        """What is computed on what, from general to specific; requests that agree in it have one pace."""
        return ()

    def after(self, chunk: str) -> Sequence[str]:
        """The chunks that have to be stored before this one."""
        return ()

    def memory(self, chunk: str) -> int:
        """Bytes that a process holds while it computes a chunk, roughly."""
        raise NotImplementedError

    def run_chunk(self, chunk: str, context: Context) -> Output:
        """What a chunk leaves; it may be repeated after a crash."""
        raise NotImplementedError

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        """The result of all chunks."""
        raise NotImplementedError

    @classmethod
    def shares(cls) -> Shares | None:
        """What several chunks begin with."""
        return None

    @classmethod
    def sketch(cls, result: Result) -> Sketch | None:
        """What a small picture of a stored answer is drawn from."""
        return of_table(result)

    @classmethod
    def stored(cls, answer: Answer) -> Output:
        """The answer, or a part of it, as a job leaves it."""
        return codec.encode(answer)

    @classmethod
    def loaded(cls, result: Result) -> Answer:
        """What `stored` has left."""
        return codec.decode(cls.answer, result)

    @classmethod
    def answered(cls, result: Result) -> Answer | str:
        """The answer of a finished job, or the sentence that says why there is none."""
        return cls.loaded(result)

    @classmethod
    def options(cls) -> dict[str, FieldInfo]:
        """The fields that say what is asked, by name."""
        return dict(cls.model_fields)

    def check_outputs(self, outputs: Collection[str]) -> None:
        """Raises `InvalidInput` where the command is to write what the answer will not hold."""

    def exported(self, result: Result) -> Mapping[str, bytes]:
        """What the command writes of a finished job, by its outputs: the result's tables, in their order."""
        return {output: exports.csv(result, name) for output, name in zip(self.outputs, result.tables, strict=False)}

    def sentences(self, answer: Answer) -> Iterable[str]:
        """What the command says of the answer."""
        return ()

    def check_queued(self) -> None:
        """Raises `InvalidInput` for what a worker, which is another process, cannot compute."""

    @property
    def payload(self) -> dict[str, Any]:
        """What determines the answer: the fields, what names in them stand for, and the version of the code."""
        return {**self.parameters(), "contents": self.contents, "numerics": self.numerics}

    def parameters(self) -> dict[str, Any]:
        """The fields as JSON."""
        return self.model_dump(mode="json")

    @classmethod
    def of_payload(cls, payload: Mapping[str, Any]) -> Self:
        """The request that a payload was made from."""
        return cls.parse({name: payload[name] for name in cls.model_fields if name in payload})

    def check_contents(self, payload: Mapping[str, Any]) -> None:
        """Raises `InvalidInput` where a name stands for something else than when the payload was made."""
        check_contents(payload, self.contents)

    def within(self, context: Context, message: str = "", start: float = 0.0, end: float = 1.0) -> Result:
        """Its result, computed inside of another job's chunk, from the fraction `start` to `end` of that, or as it is
        stored."""
        watch = _Inside(context, message, context.part(message, start, end))
        result = run_job(self.name, self.payload, context.store.root, options=context.options, watch=watch)
        watch.advance(1.0)  # which a stored result has not reported
        return result


def job_kind(kind: type[JobRequest]) -> JobKind:
    """The kind of job of a class of requests."""
    def of_chunk(method: Callable) -> Callable | None:
        """A method of a chunk as a function of the payload too; None where the class leaves it as it is."""
        own = getattr(kind, method.__name__)
        return None if own is method else lambda data, *rest: own(kind.of_payload(data), *rest)

    def run_chunk(data: Mapping[str, Any], key: str, context: Context) -> Output:
        request = kind.of_payload(data)
        request.check_contents(data)
        return request.run_chunk(key, context)

    return JobKind(kind.name, lambda data: kind.of_payload(data).chunks, run_chunk,
                   lambda data, *rest: kind.of_payload(data).finish(*rest), of_chunk(JobRequest.weight),
                   of_chunk(JobRequest.memory), kind.shares(), of_chunk(JobRequest.after), kind.sketch,
                   seconds=lambda data: kind.of_payload(data).seconds,
                   involves=lambda data: kind.of_payload(data).involves)


def check_contents(payload: Mapping[str, Any], here: Mapping[str, str]) -> None:
    """Raises `InvalidInput` where a name in a payload stands for something else than when it was made.

    here: what the names stand for now. What was not known then, or in a payload of an earlier version, may be all.
    """
    for name, content in payload.get("contents", {}).items():
        if content and content != here.get(name):
            raise InvalidInput(f"The {name} of this run have changed since the request; request it again.")


class _Inside(Watch):
    """Tells the progress of a job to the chunk that started it. advance: called with the fraction that is done."""

    def __init__(self, context: Context, message: str, advance: Callable[..., None]) -> None:
        self.context, self.message, self.advance = context, message, advance

    def report(self, progress: Progress) -> None:
        self.advance(progress.share, self.message or progress.message)

    def check(self) -> None:
        self.context.check()
