"""What a language model is fine-tuned on and asked about: a prompt with its response, and which part is what."""

from __future__ import annotations

import gc
import hashlib
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import regex
from pydantic import AfterValidator, Field, model_validator
from pydantic_core import from_json

from engine.basics.errors import InvalidInput
from engine.basics.patterns import MOST_SECONDS, fits
from engine.basics.strict_json import in_utf8, parse_json, text_encoding
from engine.basics.values import LARGEST_SEED, Count, Sparse, canonical_json
from engine.data.record_forms import QUESTIONS, TALKS, Turns, held_list, is_record, records_of

SPANS = ("answer", "explanation")


def _span(span: tuple[int, int]) -> tuple[int, int]:
    if not 0 <= span[0] < span[1]:
        raise ValueError(f"[{span[0]}, {span[1]}] is not a span of characters; give its start and its end")
    return span


Span = Annotated[tuple[Count, Count], AfterValidator(_span)]


class Record(Sparse):
    """One example.

    spans: `answer` (the letter) and `explanation`, as characters [start, end) of the response; either may be missing.
    choices: the letters that the answer competes with. marks: spans of the prompt that a page highlights.
    flags: what was done to the record; metadata: what else its file says of it. Only evaluation and display read them:
    they are no part of `content`. before_response: of a conversation the turns, as (role, words), that a chat template
    writes in place of the prompt.
    """

    unwritten: ClassVar = ("metadata", "before_response")
    id: str = ""
    prompt: Annotated[str, Field(min_length=1)]
    response: Annotated[str, Field(min_length=1)]
    spans: dict[str, Span] = Field(default_factory=dict)
    choices: tuple[str, ...] = ()
    marks: dict[str, Span] = Field(default_factory=dict)
    flags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    before_response: tuple[tuple[Literal["system", "user", "assistant", "tool"], str], ...] = ()

    @model_validator(mode="after")
    def _inside(self) -> Record:
        if not self.response.strip():
            raise InvalidInput(f"The response of record `{self.id}` is empty; give the text that the model should "
                               "write.")
        for name, (_, end) in self.spans.items():
            if name not in SPANS:
                raise InvalidInput(f"Record `{self.id}` has a span `{name}`; the spans are {' and '.join(SPANS)}.")
            if end > len(self.response):
                raise InvalidInput(f"The span `{name}` of record `{self.id}` ends at character {end}, but the response "
                                   f"has {len(self.response)}; correct it.")
        return self

    @property
    def answer(self) -> str:
        """The stated answer letter; empty where the record has none."""
        start, end = self.spans.get("answer", (0, 0))
        return self.response[start:end]

    @property
    def content(self) -> dict:
        """What a model, a behavior or an estimator may see."""
        return self.model_dump(mode="json", include={"prompt", "response", "spans", "choices", "before_response"})


def with_answer(record: Record, answer: str) -> Record:
    """The record with another stated answer; what explains it stays as it is. Raises `InvalidInput` for a record that
    states none, and for an answer that is none of its choices."""
    if "answer" not in record.spans or answer not in record.choices:
        raise InvalidInput(f"`{answer[:40]}` is not an answer of record `{record.id[:40]}`; give one of its choices.")
    start, end = record.spans["answer"]

    def moved(at: int) -> int:
        return at if at < end else at + len(answer) - (end - start)

    spans = {name: (first if name == "answer" else moved(first), moved(last))
             for name, (first, last) in record.spans.items()}
    return Record.parse({**record.model_dump(), "response": record.response[:start] + answer + record.response[end:],
                         "spans": spans})


def with_response(record: Record, response: str) -> Record:
    """The record with another response.

    Its answer is the one of its choices that stands last in it, as a word; other spans lie between the texts that they
    lay between; a span with nothing in it goes. Raises `InvalidInput` for the response that it has, and for one that
    states none of the choices of a record that states an answer.
    """
    if response.strip() == record.response.strip():
        raise InvalidInput("The right response equals the given one; write another, or mark the response as fine.")
    steps = SequenceMatcher(None, record.response, response, autojunk=False).get_opcodes()
    spans = {name: (_moved(steps, start, False), _moved(steps, end, True))
             for name, (start, end) in record.spans.items()}
    if "answer" in spans and record.choices:
        stated = list(re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, record.choices))})(?!\w)", response))
        if not stated:
            raise InvalidInput(f"The response states none of the answers {', '.join(record.choices)[:80]}; state the "
                               "right one in it.")
        spans["answer"] = stated[-1].span()
    return Record.parse({**record.model_dump(), "response": response,
                         "spans": {name: span for name, span in spans.items() if span[0] < span[1]}})


def _moved(steps: Sequence[tuple[str, int, int, int, int]], at: int, end: bool) -> int:
    """Where the start or the end of a span is after the steps that turn one text into another."""
    for kind, first, last, new_first, new_last in steps:
        if first <= at < last or (end and first < at <= last):
            return new_first + at - first if kind == "equal" else new_last if end else new_first
    return steps[-1][4]


def fingerprint(records: Iterable[Record]) -> str:
    """SHA-256 over the content of records, in their order; flags do not enter."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(canonical_json(record.content).encode())
        digest.update(b"\n")
    return digest.hexdigest()


_progress: ContextVar[Callable[[float], None]] = ContextVar("progress of records", default=lambda fraction: None)
REPORTED = 20_000
"""Records between two reports of progress."""


@contextmanager
def reporting(progress: Callable[[float], None]) -> Iterator[None]:
    """Within it `progress` is called with the fraction of a file of records that is read, in [0, 1]."""
    before = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(before)


def read_jsonl(path: Path | str, turns: Turns = "last", rules: Mapping[str, str] | None = None) -> tuple[Record, ...]:
    """Records of a file with one JSON object a line, or a list of them, in a form of `engine.data.record_forms`.

    turns: of a conversation, its last answer or every one; rules: as `marked` takes them. Raises `InvalidInput` with
    the number of the first line that cannot be used.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"`{str(path)[:200]}` cannot be read ({error.strerror}); name a JSONL file.") from None
    return parse_content(content, f"`{path}`", turns, rules)


def stream_jsonl(path: Path | str, count: int, turns: Turns = "last") -> Iterator[tuple[Record, ...]]:
    """The records of so many lines of a JSONL file at a time, as `read_jsonl` reads them; no more is held.

    Raises `InvalidInput` with the number of the first line that cannot be used, where it stands.
    """
    try:
        with open(path, "rb") as file:
            encoding = text_encoding(file.read(4))
        with open(path, encoding=encoding, newline="\n") as lines:
            for start in itertools.count(0, count):
                text = [line.removesuffix("\n") for line in itertools.islice(lines, count)]
                if not text:
                    return
                if any(line and not line.isspace() for line in text):
                    yield parse_lines(text, turns, start)
    except UnicodeError:
        raise _no_text(f"`{path}`") from None
    except OSError as error:
        raise InvalidInput(f"`{str(path)[:200]}` cannot be read ({error.strerror}); name a JSONL file.") from None


def parse_content(content: bytes, name: str = "The file", turns: Turns = "last",
                  rules: Mapping[str, str] | None = None) -> tuple[Record, ...]:
    """The records of the content of such a file."""
    content = in_utf8(content)
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"[") or start.partition(b"\n")[0].strip() == b"{":
        data = _listed(parse_json(content, name, "write a list of objects, or one object per line"), name)
        read = _records("Record", enumerate(data, 1), turns, len(data))
    else:
        lines = split_lines(content, name)
        held = _held(lines)
        read = _records("Record", enumerate(held, 1), turns, len(held)) if held else parse_lines(lines, turns)
    if not rules:
        return read
    end = time.thread_time() + MOST_SECONDS
    return tuple(marked(record, rules, end - time.thread_time()) for record in read)


def _held(lines: Sequence[str]) -> list[Any]:
    """The only list of objects in a file of one line, whose object has no known form."""
    first = list(itertools.islice((line for line in lines if line and not line.isspace()), 2))
    with suppress(InvalidInput):  # as its reader says
        return held_list(parse_json(first[0], "The line")) if len(first) == 1 else []
    return []


def _listed(data: Any, name: str) -> list[Any]:
    """A list of records, or the only list of the object that holds it; of an object that is one record, that one."""
    if isinstance(data, dict) and not data.keys().isdisjoint((*TALKS, *QUESTIONS, "instruction")):
        return [data]
    lists = [data] if isinstance(data, list) else [value for value in data.values() if isinstance(value, list)]
    if len(lists) != 1:
        raise InvalidInput(f"{name} is one object with {len(lists)} lists; write a list of records, or one "
                           "record per line.")
    return lists[0]


def split_lines(content: bytes, name: str = "The file") -> list[str]:
    """The lines of a JSONL, with or without a byte-order mark. A line ends at a line feed alone: JSON text may hold
    the other separators that Unicode knows. Raises `InvalidInput` for what is not UTF-8."""
    try:
        return content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise _no_text(name) from None


def _no_text(name: str) -> InvalidInput:
    return InvalidInput(f"{name} is not UTF-8 text; save it as JSONL in UTF-8.")


def parse_lines(lines: Sequence[str], turns: Turns = "last", before: int = 0) -> tuple[Record, ...]:
    """The records of JSONL lines; empty lines are skipped. before: how many lines of the file stand before them. Raises
    `InvalidInput`."""
    numbered = ((number, line) for number, line in enumerate(lines, 1 + before) if line and not line.isspace())
    return _records("Line", ((number, _texts(line) or parse_json(line, f"Line {number}", "write one object per line"))
                             for number, line in numbered), turns, len(lines))


def _texts(line: str) -> dict[str, str] | None:
    """The object of a line by a reader nine times as fast as `parse_json`, where it is sure to hold texts and whole
    numbers alone and each key once: two quotation marks a key and a text. None where only `parse_json` can tell."""
    try:
        data = from_json(line, cache_strings="keys")
    except (ValueError, TypeError):
        return None
    marks = line.count('"')
    if "\\" in line:
        marks = 0 if "\\\\" in line else marks - line.count('\\"')
    if not isinstance(data, dict) or not data:
        return None
    kinds = [type(value) for value in data.values()]
    whole = all(-LARGEST_SEED <= value <= LARGEST_SEED for value in data.values() if type(value) is int)
    sure = marks == 2 * len(data) + 2 * kinds.count(str) and set(kinds) <= {str, int} and whole
    return data if sure else None


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collection of cycles, which would go through all records read so far, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_uncollected()
def _records(noun: str, items: Iterable[tuple[int, Any]], turns: Turns, total: int) -> tuple[Record, ...]:
    records, report = list[Record](), _progress.get()
    for count, (number, data) in enumerate(items):
        if not count % REPORTED:
            report(count / total)
        if not isinstance(data, Mapping):
            raise InvalidInput(f"{noun} {number} is not an object; write {{\"prompt\": …, \"response\": …}}.")
        try:
            for one in (data,) if is_record(data) else records_of(data, turns):
                records.append(Record.parse({"id": str(number), **one}))
        except InvalidInput as error:
            raise InvalidInput(f"{noun} {number}: {error}") from None
    if not records:
        raise InvalidInput("There are no records in the file; write one JSON object per line.")
    return tuple(records)


def marked(record: Record, rules: Mapping[str, str], seconds: float = MOST_SECONDS) -> Record:
    """The record with spans where its response fits a pattern and it has none of that name itself.

    rules: span -> a regular expression whose last fit counts, its first group where it has one, as
    `The answer is ([A-Z])`. Raises `InvalidInput` for another span, and for what is no expression, or one that takes
    longer than so many seconds, as repetitions inside repetitions may.
    """
    spans = dict(record.spans)
    for name, pattern in rules.items():
        if name not in SPANS:
            raise InvalidInput(f"There is no span `{name[:40]}` to mark; the spans are {' and '.join(SPANS)}.")
        try:
            matches = fits(pattern, record.response, f"record `{record.id[:40]}`", seconds)
        except regex.error as error:
            raise InvalidInput(f"`{pattern[:60]}` is not a regular expression ({error}); correct it.") from None
        if matches and name not in spans:
            start, end = matches[-1].span(1 if matches[-1].re.groups else 0)
            spans |= {name: (start, end)} if end > start else {}
    return record if spans == record.spans else record.model_copy(update={"spans": spans})
