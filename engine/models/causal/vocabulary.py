"""Which words of some texts an embedded model knows: its vocabulary is that of its world, all others are one token."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from engine.models.causal.catalogue import EMBEDDED_FOLDER, is_embedded, model_title

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN = "<unknown>"


def unknown_fraction(model: str, texts: Iterable[str]) -> float:
    """The fraction of the words of texts that a model reads as one unknown word; 0 of a model that is not embedded."""
    if not is_embedded(model):
        return 0.0
    read = [token for text in texts for token in _tokenizer(model_title(model)).encode(text).tokens]
    return read.count(UNKNOWN) / max(1, len(read))


@cache
def _tokenizer(title: str) -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(EMBEDDED_FOLDER / title / "tokenizer.json"))
