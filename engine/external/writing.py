"""Scores in the files of other programs, by the ending of a name: a row a training example for bergson and dattri, a
row a query for kronfluence and numpy. A larger score supports the behavior. No file says which training examples its
rows are: they are the candidates in their order.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save

from engine.external.arrays import KRONFLUENCE
from engine.external.score_folder import INFO, SCORES

PAIR = 8
"""Bytes of a score and its mark in bergson's table, as its 2.5.1 aligns them."""


def bergson(scores: np.ndarray) -> bytes:
    """A zip of `info.json` and `scores.bin` for scores (m, k); NaN is a score that was not written."""
    names = [(f"score_{query}", f"written_{query}") for query in range(len(scores))]
    declared: Any = {"names": [name for pair in names for name in pair], "formats": ["float32", "bool"] * len(names),
                     "offsets": [PAIR * query + at for query in range(len(names)) for at in (0, 4)],
                     "itemsize": PAIR * len(names)}
    table: Any = np.zeros(scores.shape[1], np.dtype(declared))
    for (score, written), row in zip(names, scores, strict=True):
        table[score], table[written] = np.nan_to_num(row), np.isfinite(row)
    info = {"attribute_tokens": False, "num_items": len(table), "num_rows": len(table), "num_scores": len(names),
            "dtype": declared}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in ((INFO, json.dumps(info).encode()), (SCORES, table.tobytes())):
            packed.writestr(zipfile.ZipInfo(name), content)  # without the hour, the same scores are the same bytes
    return buffer.getvalue()


def dattri(scores: np.ndarray) -> bytes:
    """A tensor (k, m) in float32, as `torch.save` writes what `attribute` returns."""
    buffer = io.BytesIO()
    torch.save(torch.from_numpy(np.ascontiguousarray(scores.T, dtype=np.float32)), buffer)
    return buffer.getvalue()


def kronfluence(scores: np.ndarray) -> bytes:
    """A safetensors file with one matrix (m, k) in float32."""
    return save({KRONFLUENCE: np.ascontiguousarray(scores, dtype=np.float32)})


def matrix(scores: np.ndarray) -> bytes:
    """An npy file, (m, k) in float64."""
    buffer = io.BytesIO()
    np.save(buffer, scores)
    return buffer.getvalue()


FORMATS: Mapping[str, Callable[[np.ndarray], bytes]] = {
    ".zip": bergson, ".pt": dattri, ".safetensors": kronfluence, ".npy": matrix}
