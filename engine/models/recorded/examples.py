"""What a training example holds, as 16 bytes: two programs that see the same example find the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import numpy as np
from torch import Tensor

BYTES = 16


def of_arrays(x: np.ndarray, y: np.ndarray) -> list[bytes]:
    """Of inputs (b, …), and classes (b,) or targets (b, …). Inputs count as float32, whole numbers as they are, the
    shape not at all; classes and targets that are whole numbers count as these, whatever their type."""
    kind = np.float32 if x.dtype.kind == "f" else np.int64
    rows = np.ascontiguousarray(x.reshape(len(x), -1).astype(kind))
    return [_digest(row.tobytes() + own) for row, own in zip(rows, _labels(y.reshape(len(y), -1)), strict=True)]


def _labels(y: np.ndarray) -> list[bytes]:
    """Of classes or targets (b, c)."""
    is_whole = (np.isfinite(y) & (y == np.rint(y))).all(1)
    whole = np.where(is_whole[:, None], y, 0).astype(np.int64)
    given = y.astype(np.float32)
    return [(whole if as_whole else given)[row].tobytes() for row, as_whole in enumerate(is_whole)]


def matching(x: np.ndarray, y: np.ndarray, known: Collection[bytes]) -> list[bytes]:
    """The same; of numbers that are whole as whole numbers, or the other way round, where only so any is known."""
    own = of_arrays(x, y)
    if not set(known).isdisjoint(own) or not (x == np.rint(x)).all():
        return own
    other = of_arrays(x.astype(np.int64 if x.dtype.kind == "f" else np.float32), y)
    return own if set(known).isdisjoint(other) else other


def of_tokens(ids: Tensor, mask: Tensor, learned: Tensor) -> list[bytes]:
    """Of records (b, T): the tokens that are there by `mask`, and which of them the loss is a mean over. Padding does
    not count."""
    digests = []
    for own, there, target in zip(*(part.detach().cpu().numpy() for part in (ids, mask, learned)), strict=True):
        there = there.astype(bool)
        digests.append(_digest(own[there].astype(np.int64).tobytes() + target[there].astype(bool).tobytes()))
    return digests


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=BYTES).digest()
