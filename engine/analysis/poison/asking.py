"""Which predictions are asked about: queries by their numbers, pictures and records that are no queries yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.poison import token_evidence
from engine.basics.errors import InvalidInput
from engine.basics.values import Count, Number
from engine.data.records import Record
from engine.problems import CausalProblem, Problem, by_reads
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory
from engine.requests import Option

Asked = Annotated[tuple[Annotated[Count, Field(ge=0)], ...], Option(called="wrong"), Field(
    description="Number of a misclassified query, counted from 0; repeatable.")]
Own = Annotated[tuple[tuple[Number, ...], ...], Option(read="pictures"), Field(
    description="Images outside the set of queries.")]
Typed = Annotated[tuple[Record, ...], Option(read="records"), Field(
    description="Records with a wrong response, outside the set of queries.")]


def asking(problem: Problem, queries: Sequence[int], pictures: Sequence[Sequence[float]],
           records: Sequence[Record] = ()) -> Problem:
    """The problem with some of its queries and new inputs as its only queries.

    A picture has the label 0, which nothing here reads. A query of a language model states what the model prefers among
    its choices; a record is asked about as it is. Raises `InvalidInput` for none, and for what there is not.
    """
    if not queries and not pictures and not records:
        raise InvalidInput("No query is given; give the number of a query, an image or a record.")
    if queries and max(queries) >= len(problem.queries):
        raise InvalidInput(f"There is no query {max(queries)}; give 0 to {len(problem.queries) - 1:,}.")
    chosen = torch.as_tensor(list(queries), dtype=torch.int64, device=problem.device)
    return _asking(problem, chosen, pictures, records)


def _of_inputs(problem: Problem, chosen: Tensor, pictures: Sequence[Sequence[float]], records: Sequence[Record]
               ) -> Problem:
    if records:
        raise InvalidInput("This model does not read records; choose data with texts, or give a query or an image.")
    given = _inputs(problem, pictures)
    labels = torch.cat([problem.query_labels[chosen], problem.query_labels.new_zeros(len(given))])
    examples = problem.examples._replace(queries=torch.cat([problem.queries[chosen], given]), query_labels=labels)
    return problem.holding(examples, Shared(problem.shared.model, ProblemMemory()))


def _of_records(problem: CausalProblem, chosen: Tensor, pictures: Sequence[Sequence[float]], records: Sequence[Record]
                ) -> Problem:
    if pictures:
        raise InvalidInput("A language model does not read images; give a query or a record.")
    for record in records:
        problem.texts_at_hand.encoder.check_answer(record)
    own = problem.texts_at_hand.of(problem.queries[chosen])
    return problem.with_queries([*token_evidence.as_answered(problem, own), *records])


_asking = by_reads(_of_inputs, _of_records)


def _inputs(problem: Problem, pictures: Sequence[Sequence[float]]) -> Tensor:
    shape = problem.queries.shape[1:]
    if any(len(one) != shape.numel() for one in pictures):
        raise InvalidInput(f"An image does not have the {shape.numel():,} values that "
                           "the model reads; read it at the size of the training images.")
    return problem.queries.new_tensor(list(pictures)).reshape(len(pictures), *shape)


probability = by_reads(lambda problem: problem.query_logits.softmax(-1).max(-1).values,
                       token_evidence.probability)
"""Of what the model says of each query (m,), or of what the query states."""
stated = by_reads(lambda problem: (), lambda problem: tuple(
    record.answer or record.response for record in problem.texts_at_hand.of(problem.queries)))
"""What each query states, as text; nothing of a classifier."""
