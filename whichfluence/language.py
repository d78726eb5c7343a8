"""A causal language model of `transformers`, with or without adapters of PEFT, as a problem."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.data.record_forms import records_of
from engine.data.records import Record, read_jsonl
from engine.models.causal import lora
from engine.models.causal.checked import check_reading
from engine.models.causal.encoding import Encoder
from engine.models.causal.learning import LearningReader
from engine.models.causal.packed import Packing
from engine.models.causal.row_texts import RowTexts
from engine.problems import CausalProblem

CONTEXT = 1_024


def is_language_model(model: Any) -> TypeGuard[nn.Module]:
    """Whether an object is a model of transformers, or one that PEFT has wrapped."""
    if "transformers" not in sys.modules:  # then it cannot be one
        return False
    from peft import PeftModel
    from transformers import PreTrainedModel

    return isinstance(model, PreTrainedModel | PeftModel)


def language_problem(model: nn.Module, tokenizer: Any, train: Any, queries: Any, candidates: Iterable[int] | None, *,
                     parameters: str | Sequence[str], context: int, **options: Any) -> CausalProblem:
    """Records as units, what behaviors read off their tokens as outputs. Raises `InvalidInput` where the model reads a
    record otherwise here than alone by plain transformers."""
    if tokenizer is None:
        raise InvalidInput("A language model needs its tokenizer; give `tokenizer=`.")
    own = [records(source, noun) for source, noun in ((train, "training data"), (queries, "list of queries"))]
    encoder = Encoder(tokenizer, context)
    encoded = [[encoder.encode(record) for record in records] for records in own]
    packing = Packing.of([item for batch in encoded for item in batch])
    rows, packed = (packing.pack(encoder, batch) for batch in encoded)
    reader = LearningReader(model, packing)
    texts = RowTexts(encoder, torch.cat([rows, packed]), [*own[0], *own[1]])
    problem = CausalProblem(reader, rows, None, packed, None, candidates, parameters=lora.selection(reader, parameters),
                            texts=texts, **options)
    check_reading(problem.reader, rows, encoded[0])
    return problem


def records(source: Any, noun: str) -> tuple[Record, ...]:
    """The records of a list of dictionaries, a `datasets.Dataset` of them, or a JSONL file; `noun` names them in
    sentences. Raises `InvalidInput`."""
    if isinstance(source, str | Path):
        return read_jsonl(source)
    rows = hasattr(source, "__getitem__") and hasattr(source, "__len__") and not isinstance(source, Mapping)
    if not rows or not len(source):
        raise InvalidInput(f"The {noun} of a language model is a {type(source).__name__}; give a list of dictionaries "
                           "with `prompt` and `response`, or the path of a JSONL file.")
    return tuple(record for index, one in enumerate(source[row] for row in range(len(source))) for record in (
        [one] if isinstance(one, Record) else
        [Record.parse({"id": str(index), **form}) for form in records_of(_mapping(one, noun))]))


def _mapping(one: Any, noun: str) -> Mapping[str, Any]:
    if not isinstance(one, Mapping):
        raise InvalidInput(f"The {noun} holds a {type(one).__name__}; give dictionaries with `prompt` and `response`.")
    return one
