"""Scores of other programs, matched to the queries and training examples of one problem and stored by their content.

    HOME/brought/<digest>/     manifest.json, arrays.safetensors: `values` and `candidates`
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.basics.errors import MissingData, StoreError
from engine.basics.folders import home_folder
from engine.basics.quota import require_room
from engine.store.results import Result, Store

SHELF, KIND = "brought", "external-scores"


@dataclass(frozen=True, eq=False)
class ExternalScores:
    """values (m, k) float64 as the other program has them, NaN where it has none; candidates (k,): their rows of the
    training set. data: the fingerprint of what they belong to. facts: what else is known of them, as plain data: the
    `file` that they came from, its `table` on the same shelf, how it was read."""

    values: np.ndarray
    candidates: np.ndarray
    data: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 of values, candidates and what they belong to: the same scores from another file are the same."""
        digest = hashlib.sha256(f"{self.data} {self.values.shape}".encode())
        digest.update(np.ascontiguousarray(self.values, dtype=np.float64).tobytes())
        digest.update(np.ascontiguousarray(self.candidates, dtype=np.int64).tobytes())
        return digest.hexdigest()


def keep(scores: ExternalScores) -> str:
    """Store scores, whole or not at all; returns their digest. What is there stays."""
    digest, shelf = scores.digest, _shelf()
    if not shelf.has(digest):
        require_room(scores.values.nbytes)
        shelf.write(digest, {"kind": KIND, "data": scores.data, "shape": list(scores.values.shape),
                             "facts": dict(scores.facts)},
                    arrays={"values": np.asarray(scores.values, np.float64),
                            "candidates": np.asarray(scores.candidates, np.int64)})
    return digest


def has(digest: str) -> bool:
    """Whether scores are on this machine."""
    return _shelf().has(digest)


def load(digest: str) -> ExternalScores:
    """Raises `MissingData` where they are not on this machine, or damaged, and `InvalidInput` for text that is no
    digest."""
    result = read_stored(digest, "external scores")
    arrays = result.arrays()
    return ExternalScores(arrays["values"], arrays["candidates"], result.manifest["data"], result.manifest["facts"])


def read_stored(digest: str, noun: str) -> Result:
    """What is stored under a digest, verified; damaged, it is set aside. Raises as `load` does."""
    shelf, remedy = _shelf(), "import its file again."
    if not shelf.has(digest):
        raise MissingData(f"This machine does not have the {noun} {digest[:12]}; {remedy}")
    try:
        return shelf.read(digest)
    except StoreError:
        if shelf.has(digest):
            raise
        raise MissingData(f"The copy of the {noun} {digest[:12]} on this machine was damaged, and is set aside; "
                          f"{remedy}") from None


def entries() -> Iterator[Result]:
    """All that is stored, the newest first."""
    return (result for result in _shelf().entries() if result.manifest.get("kind") == KIND)


def _shelf() -> Store:
    return Store(home_folder(), SHELF)
