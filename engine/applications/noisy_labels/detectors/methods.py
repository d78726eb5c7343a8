"""The ways to rank labels that no estimator of the engine answers: name, question, what each reads, who proposed it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from engine.applications.noisy_labels.detectors import data_oob, kernel_removal, path, probabilities, refitted
from engine.applications.noisy_labels.detectors.readings import Readings
from engine.estimators.knn_shapley import BLOCK, shapley_values

HELD_OUT: Final = "held out"
"""Methods that read models which have not seen the example."""
REFITTED: Final = "refitted"
"""Methods that fit such models several times over."""
TRAINING: Final = "training"
"""Methods that read what the one training says of its own examples, at its end or on the way."""


@dataclass(frozen=True)
class Detector:
    """A method that implies no specification of the engine. question: what it asks, in a sentence. source: who proposed
    it. reads: one of the groups above; methods of a group share what they read. suspicion: (readings) -> (n,), larger
    for a label more likely wrong. on_the_way: whether it reads checkpoints, and has no value where none is recorded.
    numerics: the version of its numbers.
    """

    title: str
    question: str
    source: str
    reads: str
    suspicion: Callable[[Readings], np.ndarray]
    on_the_way: bool = False
    numerics: int = 1

    @property
    def sentence(self) -> str:
        """Question and source."""
        return f"{self.question} ({self.source})"


def _held_out(measure: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[Readings], np.ndarray]:
    return lambda readings: measure(readings.labels, readings.probabilities)


def _on_the_way(measure: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[Readings], np.ndarray]:
    return lambda readings: measure(readings.labels, readings.path)


def _knn_shapley(readings: Readings) -> np.ndarray:
    total, count = np.zeros(len(readings.labels)), np.zeros(len(readings.labels))
    for rows, references, labels in readings.references:
        total[rows] += _mean_value(readings.features[rows], readings.labels[rows], references, labels)
        count[rows] += 1
    return -total / count


def _mean_value(features: np.ndarray, labels: np.ndarray, references: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(n,): the mean over references of an example's Shapley value, a block of references at a time."""
    total = np.zeros(len(labels))
    for start in range(0, len(wanted), BLOCK):
        block = slice(start, start + BLOCK)
        for values in shapley_values(features, labels, references[block], wanted[block]):
            total += values
    return total / len(wanted)


def _data_oob(readings: Readings) -> np.ndarray:
    return -data_oob.values(readings.inputs, readings.labels, readings.seed)


def _removal(measure: Callable[[kernel_removal.Fits, np.ndarray], np.ndarray]) -> Callable[[Readings], np.ndarray]:
    return lambda readings: measure(readings.removal, readings.labels)


DETECTORS: dict[str, Detector] = {
    "confident": Detector("Confident learning", "Does a model that was not trained on this example contradict its "
                                                "label?",
                          "cleanlab; Northcutt et al. 2021", HELD_OUT, _held_out(probabilities.confident_learning)),
    "self_confidence": Detector(
        "Self-confidence", "How low is the probability of the label under a model that was not trained on this "
                           "example?",
        "cleanlab; Northcutt et al. 2021", HELD_OUT, _held_out(probabilities.self_confidence)),
    "normalized_margin": Detector(
        "Normalised margin", "By how much does a model that was not trained on this example prefer another label?",
        "cleanlab; Northcutt et al. 2021", HELD_OUT, _held_out(probabilities.normalized_margin)),
    "aum": Detector("Area under the margin", "How low is the margin of the label, averaged over training?",
                    "Pleiss et al. 2020", TRAINING, _on_the_way(path.area_under_margin), on_the_way=True),
    "el2n": Detector("EL2N", "How far is the prediction from the label early in training?", "Paul et al. 2021",
                     TRAINING, _on_the_way(path.el2n), on_the_way=True),
    "forgetting": Detector("Forgetting events", "How often does training forget the label after predicting it "
                                                "correctly?",
                           "Toneva et al. 2019", TRAINING, _on_the_way(path.forgetting), on_the_way=True),
    "mean_loss": Detector("Mean loss", "How large is the loss of the label, averaged over training?",
                          "the small-loss criterion; Arpit et al. 2017", TRAINING, _on_the_way(path.mean_loss),
                          on_the_way=True),
    "knn_shapley": Detector(
        "KNN-Shapley", "How little does this example add to a classifier by nearest neighbours in the model's "
                       "representation, averaged over orders of the examples?",
        "Jia et al. 2019", TRAINING, _knn_shapley),
    "data_oob": Detector("Data-OOB", "How many trees of a forest that were not trained on this example predict "
                                     "another label?",
                         "Kwon & Zou 2023", TRAINING, _data_oob),
    "kernel_removal": Detector(
        "Kernel without the example", "How low is the label's output of kernel ridge regression on the model's "
                                      "representation, fitted without this example?",
        "Allen 1974, in closed form", TRAINING,
        _removal(kernel_removal.prediction)),
    "self_influence": Detector(
        "Self-influence by removal", "How much does the margin of this example's own label fall if the example is "
        "removed and kernel ridge regression on the model's representation is refitted?",
        "the self-influence of Koh & Liang 2017, exact in closed form", TRAINING,
        _removal(kernel_removal.self_influence)),
    "refitted": Detector(
        "Reweighted refit", "Do held-out models, trained with every other example weighted by the confidence in its "
                            "label, prefer another one?", "this program", REFITTED, refitted.suspicion, numerics=2),
}  # fmt: skip


def versions(names: Collection[str]) -> dict[str, str]:
    """Method -> the version of its numbers, of the methods whose numbers have changed."""
    return {name: str(one.numerics) for name, one in DETECTORS.items() if name in names and one.numerics > 1}
