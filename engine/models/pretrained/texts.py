r"""Texts as the mean of static token embeddings (WordLlama, 256 dimensions; Miller 2024).

    φ(text) = (1/T) Σ_t E[token_t] ∈ R^256, zero for a text without a token

The package is not imported, since that changes the logging of the process: its table E and its tokenizer are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from engine.basics.options import Options
from engine.models.pretrained.packages import package_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WIDTH, BLOCK = 256, 256
TABLE, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"


def text_features(texts: Sequence[str], options: Options | None = None) -> np.ndarray:
    """φ (n, 256) float32 of texts. A thousand texts of a hundred words take a fraction of a second: nothing is stored.

    Raises `MissingData` where the package is not installed.
    """
    options, (table, tokenizer) = options or Options(), _model()
    out = np.zeros((len(texts), WIDTH), dtype=np.float32)
    for start in range(0, len(texts), BLOCK):
        options.check()
        block = tokenizer.encode_batch(list(texts[start:start + BLOCK]), add_special_tokens=False)
        for row, tokens in enumerate(block, start):
            if tokens.ids:
                out[row] = table[tokens.ids].mean(0, dtype=np.float32)
        options.progress(min(1.0, (start + BLOCK) / len(texts)))
    return out


@lru_cache(maxsize=1)
def _model() -> tuple[np.ndarray, Tokenizer]:
    """E (tokens, 256) and what parts a text into tokens."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    paths = [package_file("wordllama", inside, "wordllama") for inside in (TABLE, TOKENIZER)]
    return load_file(paths[0])["embedding.weight"].astype(np.float32), Tokenizer.from_file(str(paths[1]))
