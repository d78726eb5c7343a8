"""What models say of the part of the labels that they left out: a first list of suspects, and how many are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from engine import data
from engine.applications.noisy_labels import effort
from engine.applications.noisy_labels.folds import fold_of, strata
from engine.applications.noisy_labels.search import draw_cached
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.applications.noisy_labels.wrong_labels import Fraction, counted, flagged
from engine.basics.provenance import device_name
from engine.basics.values import Count
from engine.jobs import Context, Output
from engine.problems.problem import pick_device
from engine.requests import JobRequest
from engine.store.results import Result

FOLDS = 5
FIRST = 200
"""How many suspects the first list has."""
MISJUDGED = ("It counts what the model misjudges as well, so that fewer may be: the interval says how far the count "
             "varies. A random sample that you verify tells how many are wrong.")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """probabilities (n, C): of each example by the model that was trained without it. labels (n,): as they came.
    low, high: the bootstrap interval of the fraction that confident learning counts."""

    probabilities: np.ndarray
    labels: np.ndarray
    low: float
    high: float

    @property
    def count(self) -> Fraction:
        """The fraction of labels that confident learning takes for wrong."""
        return Fraction(float(self.flags.mean()), self.low, self.high, len(self.labels))

    @property
    def flags(self) -> np.ndarray:
        """Which labels (n,) it takes for wrong."""
        return flagged(self.labels, self.probabilities)

    @property
    def own(self) -> np.ndarray:
        """The probability (n,) of the label that each example came with: its self-confidence."""
        return self.probabilities[np.arange(len(self.labels)), self.labels]

    @property
    def agreement(self) -> float:
        """Of how many labels the most probable class is the label."""
        return float((self.probabilities.argmax(1) == self.labels).mean())

    def suspects(self, count: int = FIRST) -> np.ndarray:
        """The rows of the least self-confidence, that first."""
        return np.argsort(self.own, kind="stable")[:count]


class HeldOutRequest(JobRequest[HeldOut]):
    """Train without each of `folds` parts of the labels, as they are, and say of that part how probable each class is.

    All labels of the source take part, stratified by label.
    """

    name: ClassVar = "noisy_label_held_out"
    answer: ClassVar = HeldOut

    source: NoisySource
    folds: Annotated[Count, Field(ge=2, le=20)] = FOLDS

    @property
    def job_title(self) -> str:
        return f"First suspects in {data.title(self.source.dataset)}"

    @property
    def contents(self) -> Mapping[str, str]:
        return self.source.contents

    @property
    def chunks(self) -> list[str]:
        return [str(fold) for fold in range(self.folds)]

    @property
    def unit(self) -> float:
        return effort.training_seconds(self.source)

    @property
    def involves(self) -> tuple[str, ...]:
        return effort.involves(self.source)

    def _folds(self, noisy: NoisyData) -> np.ndarray:
        return fold_of(strata(noisy.evidence.y, self.folds), self.folds, self.source.mask)

    def run_chunk(self, chunk: str, context: Context) -> Output:
        noisy, device = draw_cached(self.source), str(pick_device(context.device))
        held = self._folds(noisy) == int(chunk)
        said = f"training without part {int(chunk) + 1} of {self.folds}"
        p = noisy.probabilities(noisy.evidence.y, ~held, held, self.source.seed, device, context.computing(said))
        return Output(arrays={"p": p}, manifest={"device": device_name(device), "data": noisy.fingerprint})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        noisy = draw_cached(self.source)
        folds, y = self._folds(noisy), noisy.evidence.y
        p = np.empty((len(y), noisy.evidence.classes))
        for chunk in self.chunks:
            p[folds == int(chunk)] = chunks[chunk].arrays()["p"]
        count = counted(y, p, self.source.mask)
        output, first = self.stored(HeldOut(p, y, count.low, count.high)), chunks[self.chunks[0]].manifest
        return Output(output.tables, output.arrays, {**output.manifest, "device": first["device"],
                                                     "data": first["data"], "seeds": [self.source.seed]})
