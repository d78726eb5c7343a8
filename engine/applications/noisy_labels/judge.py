"""How good the model is that judges the labels, on examples that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from engine.applications.noisy_labels.source import NoisyData

WORTH = 0.1
"""The part of the way from chance to perfect below which a warning stands."""
REMEDY = ("Train for more epochs, use larger or colour images, add examples, or merge classes that look alike; then "
          "search again.")


@dataclass(frozen=True)
class Judge:
    """accuracy on `examples` unseen ones; chance: that of always saying the most frequent class; verified: whether
    their labels are, and not in doubt themselves."""

    accuracy: float
    examples: int
    chance: float
    verified: bool

    @property
    def lowest(self) -> float:
        """The lower end of the accuracy's 95% interval (Wilson 1927)."""
        right = round(self.accuracy * self.examples)
        return binomtest(right, self.examples).proportion_ci(method="wilson").low

    @property
    def is_weak(self) -> bool:
        """Whether it may be less than a tenth of the way from chance to perfect."""
        return self.lowest < self.chance + WORTH * (1 - self.chance)

    @property
    def measured(self) -> str:
        """How often it is right, beside chance."""
        labels = "verified labels" if self.verified else "given labels, right or wrong,"
        said = (f"The held-out model agrees with {self.accuracy:.1%} of the {labels} of {self.examples:,} held-out "
                f"examples; predicting the most frequent class would agree with {self.chance:.1%}.")
        if not self.is_weak:
            return said
        return (f"{said} The lower end of its 95% interval, {self.lowest:.1%}, is less than a tenth of the distance "
                "from there to 100%.")

    @property
    def sentence(self) -> str:
        """The same, and what to do where that hardly differs."""
        return f"{self.measured} {REMEDY}" if self.is_weak else self.measured


def judge(data: NoisyData, accuracy: float) -> Judge | None:
    """The judge of a search. accuracy: on the test examples, or out of fold where no label is trusted; None where there
    is nothing to measure on."""
    source = data.source
    labels = data.evidence.y if source.in_turn else data.y_test
    if not len(labels):
        return None
    largest_class = np.bincount(labels).max() / len(labels)
    return Judge(accuracy, len(labels), float(largest_class),
                 verified=not source.in_turn and not (source.is_own and data.dataset.test_from_train))
