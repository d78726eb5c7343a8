"""What models say of the fold of the labels that they left out: read by a first list of suspects, the count of wrong
labels, every method that needs out-of-fold probabilities, and the trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from engine.applications.noisy_labels import effort
from engine.applications.noisy_labels.drawing import draw_cached
from engine.applications.noisy_labels.folds import fold_chunks, fold_named
from engine.applications.noisy_labels.request import OfSource
from engine.applications.noisy_labels.source import NoisyData
from engine.applications.noisy_labels.wrong_labels import Fraction, counted, flagged
from engine.basics.options import Options
from engine.basics.provenance import device_name
from engine.jobs import Context, Output
from engine.problems.problem import pick_device
from engine.store.results import Result

FIRST = 200
"""How many suspects the first list has."""
MISJUDGED = ("The count includes examples that the model misclassifies and misses wrong labels that it agrees with, so "
             "fewer or more may be wrong; the interval shows how far the count varies. Verify a random sample to "
             "estimate how many are wrong.")


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


class HeldOutRequest(OfSource[HeldOut]):
    """Train without each fold of the labels, as they are, and say of that fold how probable each class is.

    All labels of the source take part, stratified by label.
    """

    name: ClassVar = "noisy_label_held_out"
    about: ClassVar = "First suspects in"
    numerics: ClassVar = 2

    def parameters(self) -> dict[str, Any]:
        """The source, and the number of its folds."""
        return {**super().parameters(), "folds": self.source.held_out_folds}

    @property
    def chunks(self) -> list[str]:
        return fold_chunks(self.source.held_out_folds)

    def weight(self, chunk: str) -> float:
        """The first one reads the features of all examples."""
        return 1.0 + (effort.reading_seconds(self.source) / self.unit if chunk == self.chunks[0] else 0.0)

    def run_chunk(self, chunk: str, context: Context) -> Output:
        noisy, device = draw_cached(self.source), str(pick_device(context.device))
        message = f"training without {chunk} of {self.source.held_out_folds}"
        p = _left_out(noisy, fold_named(chunk), device, context.computing(message))
        return Output(arrays={"p": p}, manifest={"device": device_name(device), "data": noisy.fingerprint})

    def finish(self, chunks: Mapping[str, Result], context: Context) -> Output:
        noisy = draw_cached(self.source)
        y = noisy.evidence.y
        p = np.empty((len(y), noisy.evidence.classes))
        for chunk in self.chunks:
            p[noisy.fold_of == fold_named(chunk)] = chunks[chunk].arrays()["p"]
        count = counted(y, p, self.source.mask)
        first = chunks[self.chunks[0]].manifest
        return self.stored(HeldOut(p, y, count.low, count.high)).stating(
            {"device": first["device"], "data": first["data"], "seeds": [self.source.seed]})


def _left_out(noisy: NoisyData, fold: int, device: str, options: Options) -> np.ndarray:
    """p (h, C) of the examples of a fold by the model that is trained without it; where each fold is held out in turn,
    by the one that a search reads."""
    if noisy.source.in_turn:
        return noisy.without(fold).train(device, options.check, options.progress).of_queries
    return noisy.refitting(device, options.between(0, 0.5)).left_out(fold, options.between(0.5, 1))
