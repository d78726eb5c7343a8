"""A causal language model of `transformers`, with or without adapters of PEFT, as a problem."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.data.record_forms import records_of
from engine.data.records import Record, read_jsonl
from engine.models.causal.encoding import Encoded, Encoder
from engine.models.causal.learning import LearningReader
from engine.models.causal.packed import Packing
from engine.models.causal.row_texts import RowTexts
from engine.models.network import ALL
from engine.problems import CausalProblem
from engine.question.token_behaviors import RESPONSE

CONTEXT = 1_024
NEAR = 1e-3
"""By how much the log-likelihood per token of a record may differ from that of plain transformers for it alone."""


def is_language_model(model: Any) -> TypeGuard[nn.Module]:
    """Whether an object is a model of transformers, or one that PEFT has wrapped."""
    if "transformers" not in sys.modules:  # then it cannot be one
        return False
    from peft import PeftModel
    from transformers import PreTrainedModel

    return isinstance(model, PreTrainedModel | PeftModel)


def language_problem(model: nn.Module, tokenizer: Any, train: Any, queries: Any, candidates: Iterable[int] | None, *,
                     parameters: str, context: int, **options: Any) -> CausalProblem:
    """Records as units, what behaviors read off their tokens as outputs. Raises `InvalidInput` where the model reads a
    record otherwise here than alone by plain transformers."""
    if tokenizer is None:
        raise InvalidInput("A language model needs its tokenizer; give `tokenizer=`.")
    own = [_records(source, noun) for source, noun in ((train, "training data"), (queries, "list of queries"))]
    encoder = Encoder(tokenizer, context)
    encoded = [[encoder.encode(record) for record in records] for records in own]
    packing = Packing.of([item for part in encoded for item in part])
    rows, asked = (packing.pack(encoder, part) for part in encoded)
    reader = LearningReader(model, packing)
    check(reader, rows, encoded[0])
    selection = _trainable(reader) if parameters == ALL else parameters
    texts = RowTexts(encoder, torch.cat([rows, asked]), [*own[0], *own[1]])
    return CausalProblem(reader, rows, None, asked, None, candidates, parameters=selection,
                         texts=texts, **options)


def check(reader: LearningReader, rows: Tensor, encoded: Sequence[Encoded]) -> None:
    """The log-likelihood per token of the longest and the shortest record, packed together, against what plain
    transformers gives for each alone. Raises `InvalidInput` with both numbers where they differ."""
    lengths = [len(item.ids) for item in encoded]
    chosen = sorted({lengths.index(max(lengths)), lengths.index(min(lengths))})
    device, training = next(reader.parameters()).device, reader.training
    reader.eval()
    try:
        with torch.no_grad():
            ours = reader(rows[chosen].to(device))[:, RESPONSE].tolist()
            alone = [_alone(reader.model, encoded[row], device) for row in chosen]
    finally:
        reader.train(training)
    for row, here, there in zip(chosen, ours, alone, strict=True):
        if not abs(here - there) <= NEAR * max(1.0, abs(there)):
            raise InvalidInput("This model reads records otherwise here than alone by plain transformers: record "
                               f"{row} has {here:.6g} nats a token here and {there:.6g} alone. Its kind of attention "
                               "is not supported.")


def _alone(model: Any, record: Encoded, device: torch.device) -> float:
    """Mean log-likelihood of the response's tokens."""
    ids = torch.tensor(record.ids, device=device)
    logits = model(input_ids=ids[None], use_cache=False).logits[0].double()
    return logits[record.response - 1:-1].log_softmax(-1).gather(1, ids[record.response:, None]).mean().item()


def _trainable(reader: nn.Module) -> str:
    """The parameters that require gradients, as a regular expression; all where none is frozen."""
    named = dict(reader.named_parameters())
    free = [name for name, parameter in named.items() if parameter.requires_grad]
    if not free:
        raise InvalidInput("No parameter of the model requires a gradient; free those that count, or name them by "
                           "`parameters`.")
    return ALL if len(free) == len(named) else "|".join(f"^{re.escape(name)}$" for name in free)


def _records(source: Any, noun: str) -> tuple[Record, ...]:
    if isinstance(source, str | Path):
        return read_jsonl(source)
    if not isinstance(source, Sequence) or not source:
        raise InvalidInput(f"The {noun} of a language model is a {type(source).__name__}; give a list of dictionaries "
                           "with `prompt` and `response`, or the path of a JSONL file.")
    return tuple(record for place, one in enumerate(source) for record in (
        [one] if isinstance(one, Record) else
        [Record.parse({"id": str(place), **form}) for form in records_of(_mapping(one, noun))]))


def _mapping(one: Any, noun: str) -> Mapping[str, Any]:
    if not isinstance(one, Mapping):
        raise InvalidInput(f"The {noun} holds a {type(one).__name__}; give dictionaries with `prompt` and `response`.")
    return one
