"""What a language model is fine-tuned on and asked about: a prompt with its response, and which part is what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from engine.basics.errors import InvalidInput
from engine.basics.strict_json import parse_json
from engine.basics.values import Count, Value, canonical_json

SPANS = ("answer", "explanation")


def _span(span: tuple[int, int]) -> tuple[int, int]:
    if not 0 <= span[0] < span[1]:
        raise ValueError(f"[{span[0]}, {span[1]}] is no span of characters; give its start and its end")
    return span


Span = Annotated[tuple[Count, Count], AfterValidator(_span)]


class Record(Value):
    """One example.

    spans: `answer` (the letter) and `explanation`, as characters [start, end) of the response; either may be missing.
    choices: the letters that the answer competes with. marks: spans of the prompt that a page highlights.
    flags: what was done to the record. Only evaluation and display read them: they are no part of `content`.
    """

    id: str = ""
    prompt: Annotated[str, Field(min_length=1)]
    response: Annotated[str, Field(min_length=1)]
    spans: dict[str, Span] = {}
    choices: tuple[str, ...] = ()
    marks: dict[str, Span] = {}
    flags: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _inside(self) -> Record:
        if not self.response.strip():
            raise InvalidInput(f"The response of record `{self.id}` is empty; give the text that the model should say.")
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
        return self.model_dump(mode="json", include={"prompt", "response", "spans", "choices"})


def fingerprint(records: Iterable[Record]) -> str:
    """SHA-256 over the content of records, in their order; flags do not enter."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(canonical_json(record.content).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def read_jsonl(path: Path | str) -> tuple[Record, ...]:
    """Records of a file with one JSON object a line: `prompt`, `response`, and optionally the other fields.

    Raises `InvalidInput` with the number of the first line that cannot be used.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"`{str(path)[:200]}` cannot be read ({error.strerror}); name a JSONL file.") from None
    return parse_lines(split_lines(content, f"`{path}`"))


def split_lines(content: bytes, name: str = "The file") -> list[str]:
    """The lines of a JSONL, with or without a byte-order mark. A line ends at a line feed alone: JSON text may hold
    the other separators that Unicode knows. Raises `InvalidInput` for what is not UTF-8."""
    try:
        return content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text; save it as JSONL in UTF-8.") from None


def parse_lines(lines: Iterable[str]) -> tuple[Record, ...]:
    """The records of JSONL lines; empty lines are skipped. Raises `InvalidInput`."""
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        data = parse_json(line, f"Line {number}", "write one object a line")
        if not isinstance(data, Mapping):
            raise InvalidInput(f"Line {number} is no object; write {{\"prompt\": …, \"response\": …}}.")
        try:
            found.append(Record.parse({"id": str(number), **data}))
        except InvalidInput as error:
            raise InvalidInput(f"Line {number}: {error}") from None
    if not found:
        raise InvalidInput("There are no records in the file; write one JSON object a line.")
    return tuple(found)
