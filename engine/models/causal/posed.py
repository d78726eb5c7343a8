r"""What is asked of records in a user's words, as further columns of a `TokenReader`: spans and contrasts.

    Marks     mean over the marked tokens of log p(token)
    Other     log p(r | prompt) − log p(r' | prompt), with r' in a record of its own

A record that is not asked about has nothing marked, or no other response, and its column is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.data.records import Record
from engine.models.causal.encoding import Batch, Encoder
from engine.models.causal.packed import Packing
from engine.models.causal.reader import Extra, TokenReader, token_logits
from engine.models.causal.readouts import marked_likelihood, response_likelihood
from engine.question.worded import Contrast, Span, Worded


@dataclass(frozen=True)
class Marks:
    """Flags of the last R tokens, (b, R)."""

    width: int

    def read(self, reader: TokenReader, rows: Tensor, batch: Batch, logits: Tensor) -> Tensor:
        return marked_likelihood(logits, batch, rows)


@dataclass(frozen=True)
class Other:
    """The same prompt with the other response, packed in its own way."""

    packing: Packing

    @property
    def width(self) -> int:
        return self.packing.width

    def read(self, reader: TokenReader, rows: Tensor, batch: Batch, logits: Tensor) -> Tensor:
        other = self.packing.unpack(rows)
        there = other.response.any(1)
        return (response_likelihood(logits, batch) - response_likelihood(token_logits(reader, other), other)) * there


@dataclass(frozen=True)
class Texts:
    """The encoder and packing of rows, with the records that the asked ones were made of."""

    encoder: Encoder
    packing: Packing
    records: Sequence[Record]

    def asked(self, query: int | None) -> list[int]:
        """The places of the records that are asked about. Raises `InvalidInput` for one that is not there."""
        if query is None:
            return list(range(len(self.records)))
        if query >= len(self.records):
            raise InvalidInput(f"There is no query {query}; choose one of 0 to {len(self.records) - 1:,}, or name "
                               "none.")
        return [query]


@singledispatch
def posed(words: Worded, texts: Texts) -> tuple[Extra, Tensor]:
    """The column that reads the words, and its part of every record's row, (m, width).

    Raises `InvalidInput` for the first record that lacks what is asked.
    """
    raise TypeError(f"nothing is known of {type(words).__name__}")


@posed.register
def _marks(words: Span, texts: Texts) -> tuple[Extra, Tensor]:
    rows = torch.zeros(len(texts.records), texts.packing.tail, dtype=torch.long)
    for place in texts.asked(words.query):
        record = texts.records[place]
        spans = words.found(record.response)
        if not spans:
            raise InvalidInput(f"“{words.words}” does not stand in the response of query {place}; mark words that "
                               "every query's response holds, or words of one query alone, as in `span@0:the words`.")
        rows[place, [texts.packing.tail - back for back in texts.encoder.covered(record, spans)]] = 1
    return Marks(texts.packing.tail), rows


@posed.register
def _other(words: Contrast, texts: Texts) -> tuple[Extra, Tensor]:
    asked, encoder = texts.asked(words.query), texts.encoder
    encoded = []
    for place in asked:
        record = texts.records[place]
        found = encoder.encode(_stated(words, record, place))
        if found.cut != encoder.encode(record).cut:
            raise InvalidInput(f"With the other response, query {place} does not fit into the {encoder.context:,} "
                               "tokens of this model's context, so that its prompt would be cut; write a shorter one.")
        encoded.append(found)
    packing = Packing.of(encoded)
    rows = packing.nothing(len(texts.records))
    rows[asked] = packing.pack(encoder, encoded)
    return Other(packing), rows


def _stated(words: Contrast, record: Record, place: int) -> Record:
    """The record with the other response, without spans."""
    response = words.response or _with_choice(words, record, place)
    if response == record.response.strip():
        raise InvalidInput(f"The other response is that of query {place} itself; write another one, or contrast one "
                           "query alone, as in `contrast@0:…`.")
    return Record(id=record.id, prompt=record.prompt, response=response)


def _with_choice(words: Contrast, record: Record, place: int) -> str:
    others = [choice for choice in record.choices if choice != record.answer]
    if not record.answer or len(others) < words.choice:
        raise InvalidInput(f"Query {place} has no {words.which} to state; contrast with a response of your own, as in "
                           "`contrast:the other response`, or choose other queries.")
    start, end = record.spans["answer"]
    return record.response[:start] + others[words.choice - 1] + record.response[end:]
