r"""What a user's words read off records, as further columns of a `TokenReader`: spans and contrasts.

    Marks     mean over the marked tokens of log p(token)
    Other     log p(r | prompt) − log p(r' | prompt), with r' in a record of its own

and what needs no words (`whole_response`).

A record that the words do not read has nothing marked, or no other response, and its column is 0.
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
from engine.models.causal.whole_response import Divergence, Odds
from engine.question.worded import BaseDivergence, Contrast, LogOdds, Span, TokenRange, Worded


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
    """The encoder and packing of rows, with the records that the rows were encoded from."""

    encoder: Encoder
    packing: Packing
    records: Sequence[Record]

    def rows(self, query: int | None) -> list[int]:
        """The rows of the records that the words read. Raises `InvalidInput` for one that is not there."""
        if query is None:
            return list(range(len(self.records)))
        if query >= len(self.records):
            raise InvalidInput(f"There is no query {query}; choose one of 0 to {len(self.records) - 1:,}, or name "
                               "none.")
        return [query]


@singledispatch
def posed(words: Worded, texts: Texts) -> tuple[Extra, Tensor]:
    """The column that reads the words, and its part of every record's row, (m, width).

    Raises `InvalidInput` for the first record that lacks what the words read.
    """
    raise TypeError(f"nothing is known of {type(words).__name__}")


@posed.register
def _marks(words: Span, texts: Texts) -> tuple[Extra, Tensor]:
    rows = torch.zeros(len(texts.records), texts.packing.tail, dtype=torch.long)
    for query in texts.rows(words.query):
        record = texts.records[query]
        spans = words.matches(record.response)
        if not spans:
            raise InvalidInput(f"“{words.words}” does not occur in the response of query {query}; mark words that "
                               "occur in every query's response, or words of one query, as in `span@0:the words`.")
        rows[query, [texts.packing.tail - back for back in texts.encoder.covered(record, spans)]] = 1
    return Marks(texts.packing.tail), rows


@posed.register
def _range(words: TokenRange, texts: Texts) -> tuple[Extra, Tensor]:
    rows = torch.zeros(len(texts.records), texts.packing.tail, dtype=torch.long)
    for query in texts.rows(words.query):
        encoded = texts.encoder.encode(texts.records[query])
        count = len(encoded.ids) - encoded.response
        if words.last >= count:
            raise InvalidInput(f"The response of query {query} has {count:,} tokens, but `{words.spelling}` asks for "
                               f"token {words.last}; tokens are numbered from 0 to {count - 1:,}.")
        first = texts.packing.tail - count + words.first
        rows[query, first:first + words.count] = 1
    return Marks(texts.packing.tail), rows


@posed.register
def _other(words: Contrast, texts: Texts) -> tuple[Extra, Tensor]:
    queries, encoder = texts.rows(words.query), texts.encoder
    encoded = []
    for query in queries:
        record = texts.records[query]
        with_other = encoder.encode(_stated(words, record, query))
        if with_other.cut != encoder.encode(record).cut:
            raise InvalidInput(f"With the other response, query {query} does not fit into the {encoder.context:,} "
                               "tokens of this model's context, so its prompt would be cut; write a shorter one.")
        encoded.append(with_other)
    packing = Packing.of(encoded)
    rows = packing.nothing(len(texts.records))
    rows[queries] = packing.pack(encoder, encoded)
    return Other(packing), rows


@posed.register
def _odds(words: LogOdds, texts: Texts) -> tuple[Extra, Tensor]:
    return Odds(), torch.zeros(len(texts.records), 1, dtype=torch.long)


@posed.register
def _divergence(words: BaseDivergence, texts: Texts) -> tuple[Extra, Tensor]:
    return Divergence(), torch.zeros(len(texts.records), 1, dtype=torch.long)


def _stated(words: Contrast, record: Record, query: int) -> Record:
    """The record with the other response, without spans."""
    response = words.response or _with_choice(words, record, query)
    if response == record.response.strip():
        raise InvalidInput(f"The other response is that of query {query} itself; write another one, or contrast one "
                           "query alone, as in `contrast@0:…`.")
    return Record(id=record.id, prompt=record.prompt, response=response, before_response=record.before_response)


def _with_choice(words: Contrast, record: Record, query: int) -> str:
    others = [choice for choice in record.choices if choice != record.answer]
    if not record.answer or len(others) < words.choice:
        raise InvalidInput(f"Query {query} has no {words.which} to state; contrast with a response of your own, as in "
                           "`contrast:the other response`, or choose other queries.")
    start, end = record.spans["answer"]
    return record.response[:start] + others[words.choice - 1] + record.response[end:]
