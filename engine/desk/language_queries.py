"""What can be read off the queries of a language model, which is known before it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.basics.errors import InvalidInput
from engine.data import Dataset, Sample
from engine.data.records import Record
from engine.models.causal import loading
from engine.models.causal.encoding import Encoder
from engine.models.causal.readouts import READOUTS, lacking
from engine.scoring.scoring import Scoring


def queries(dataset: Dataset, sample: Sample) -> list[Record]:
    """The queries that are texts."""
    records = [dataset.record("test", int(row)) for row in sample.query_index]
    return [record for record in records if record is not None]


@dataclass(frozen=True)
class ResponseToken:
    """A token of a response: its text, and the characters [start, end) of the response that it covers, none of an end
    of turn."""

    text: str
    start: int
    end: int


def response_tokens(model: str, record: Record) -> list[ResponseToken]:
    """The tokens of a record's response as a model, by its name, reads them, in the order in which `tokens@4:2-7`
    counts them; only its tokenizer is read. Raises `InvalidInput` for a model that is not on this machine."""
    encoder = _encoder(model)
    spans = zip(encoder.words(encoder.encode(record)), encoder.response_spans(record), strict=True)
    return [ResponseToken(word, start, end) for word, (start, end) in spans]


@lru_cache(maxsize=4)
def _encoder(model: str) -> Encoder:
    from transformers import AutoTokenizer

    files = loading.find(model)
    if not files.local:
        raise InvalidInput(f"`{model}` is not on this machine yet, so its tokens are unknown; train it once, or name "
                           "the range by its numbers, as in `tokens@0:2-7`.")
    if files.base and not any((Path(files.source) / name).is_file() for name in loading.TOKENIZERS):
        return _encoder(files.base)
    return Encoder(AutoTokenizer.from_pretrained(files.source, **({"gguf_file": files.gguf} if files.gguf else {})))


def check_queries(dataset: Dataset, sample: Sample, scorings: Sequence[Scoring]) -> None:
    """Raises `InvalidInput` for the first behavior that a query does not allow."""
    lacks = lacking(queries(dataset, sample))
    if name := next((scoring.behavior for scoring in scorings if scoring.behavior in lacks), None):
        raise InvalidInput(f"“{READOUTS[name].title}” needs {lacks[name]} in every query, which some lack; choose "
                           "`response_loss`, or mark it with the keys `answer` and `rationale`, or with `spans`.")
