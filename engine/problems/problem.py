"""What every kind of problem has: a factual model with its data, candidates, and a memory for what solvers share."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.footprint import footprint


class Problem(ABC):
    """Base of `SoftmaxProblem` and `ModuleProblem`; estimators choose their route by `kind`.

    x (n, …), y (n,), queries (m, …), query_labels (m,), candidates (k,): on `device`. classes C, parameters P,
    query_logits (m, C) at θ_D. `noun` is what a sentence calls such a model. `convex`: whether the objective has one
    optimum, at which all training ends. `linear`: whether logits are linear in the parameters. `live_seconds`: how
    long a reader waits for scores at once; `live_device`: where they are computed then, as `pick_device` reads it.
    """

    kind: str
    noun: str
    convex: bool = False
    linear: bool = False
    live_seconds: float
    live_device: str
    device: torch.device
    x: Tensor
    y: Tensor
    queries: Tensor
    query_labels: Tensor
    candidates: Tensor
    classes: int
    parameters: int
    query_logits: Tensor
    probabilities: Tensor

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """The model's sizes, for a manifest."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """What else a manifest says of the factual model; computing it trains or checks the model."""

    def with_candidates(self, candidates: Tensor) -> Problem:
        """The same trained problem with other candidates (k,); what was computed of the model is shared."""
        self.facts, self._memory  # noqa: B018 - so that both are shared
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("fingerprint", None)
        other.candidates = self._labels(candidates)
        return other

    @property
    def gradient_bytes(self) -> int:
        """What one candidate's gradient takes where solvers hold it whole."""
        return 0

    @property
    def nbytes(self) -> int:
        """What it holds in memory: its data, and what was computed of it and kept so far."""
        return footprint(self)

    @property
    def exclusive(self) -> AbstractContextManager:
        """Held while scores are computed, where a model must not be used by two threads at once."""
        return nullcontext()

    def check_label(self, label: int) -> None:
        """Raises `InvalidInput` for a relabelling to a class that does not exist."""
        if label >= self.classes:
            raise InvalidInput(f"There is no class {label} to relabel to; use 0 to {self.classes - 1}.")

    def _labels(self, labels) -> Tensor:
        labels = labels.cpu() if isinstance(labels, Tensor) else labels
        return torch.as_tensor(np.array(labels, dtype=np.int64)).to(self.device)

    def memo(self, key: str, build, version=None):
        """What `build()` made for `key`, made again only when `version` changes: what solvers share."""
        memory, lock = self._memory
        with lock:
            if key not in memory or memory[key][0] != version:
                memory[key] = (version, build())
            return memory[key][1]

    @cached_property
    def _memory(self) -> tuple[dict, threading.RLock]:
        """Shared by threads: a second one waits for what the first is building."""
        return {}, threading.RLock()

    @property
    @abstractmethod
    def described(self) -> str:
        """What, besides the data, the scores depend on: part of the fingerprint."""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over model, data and candidates: what a stored result is tied to."""
        digest = hashlib.sha256(self.described.encode())
        for tensor in (self.x, self.y, self.queries, self.query_labels, self.candidates):
            digest.update(str(tuple(tensor.shape)).encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()


def pick_device(name: str) -> torch.device:
    """`auto` takes CUDA where there is one, else the CPU. Raises `InvalidInput` for one that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    known = {"cpu", *(["cuda"] if torch.cuda.is_available() else ()),
             *(f"cuda:{number}" for number in range(torch.cuda.device_count()))}
    if name in known:
        return torch.device(name)
    raise InvalidInput(f"The device `{name}` is not available; use `cpu` or `auto`.")
