r"""Which method finds wrong labels here: some labels of the data at hand are made wrong, and every method searches.

A fraction of the labels is flipped, of examples whose label one of two models of different kinds, neither of which has
seen it, predicts (`opinions`), so that most were right before. Of one model alone the methods that read this model, or
one like it, would find most. A label a becomes b with probability

    P(b | a) = (1 − u) c_ab / Σ_j c_aj + u / (C − 1),   c_ab = 1 + mean over models of #{k : y_k = b, argmax p(k) = a}

over the C classes that some label has, b ≠ a: half of them (u) uniformly, the others as the models confuse classes in
these data. A method is measured by its average precision among the examples that could have been flipped: what was
wrong before in the others counts neither for it nor against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.detectors.readings import Readings
from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.basics.errors import InvalidInput
from engine.metrics.detection import detection
from engine.metrics.ranking import ranks

FRACTION = 0.05
LEAST = 5
UNIFORM = 0.5
"""u."""


@dataclass(frozen=True, eq=False)
class Planted:
    """labels (n,) with some flipped, which of them are (n,), and which could have been (n,)."""

    labels: np.ndarray
    flipped: np.ndarray
    eligible: np.ndarray


def opinions(readings: Readings) -> np.ndarray:
    """Classes (2, n) that the models at hand predict out of fold, and kernel ridge regression without the example."""
    return np.stack([readings.probabilities.argmax(1), readings.removal.without.argmax(1)])


def plant(labels: np.ndarray, predicted: np.ndarray, classes: int, seed: int, fraction: float = FRACTION
          ) -> Planted:
    """Flip a fraction of the labels (n,). predicted (m, n): by m models that have not seen the example.

    Raises `InvalidInput` where too few labels can be flipped.
    """
    eligible, count = (predicted == labels).any(0), round(fraction * len(labels))
    if min(count, eligible.sum() / 2) < LEAST:
        raise InvalidInput(f"Only {int(min(count, eligible.sum() // 2)):,} labels can be corrupted, fewer than "
                           f"{LEAST}, so methods cannot be measured here; search more labels.")
    rng = np.random.default_rng([seed, 8])
    rows = rng.permutation(np.flatnonzero(eligible))[:min(count, int(eligible.sum()) // 2)]
    becomes = _becomes(labels, predicted, classes)
    flipped = np.zeros(len(labels), dtype=bool)
    flipped[rows] = True
    changed = np.array(labels)
    for row in rows:
        changed[row] = rng.choice(classes, p=becomes[labels[row]])
    return Planted(changed, flipped, eligible)


def _becomes(labels: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """P(b | a) (C, C)."""
    possible = np.tile(np.isin(np.arange(classes), labels), (classes, 1)) & ~np.eye(classes, dtype=bool)
    confusions = np.ones((classes, classes))
    for one in predicted:
        np.add.at(confusions, (one, labels), 1.0 / len(predicted))
    return sum(weight * counts / counts.sum(1, keepdims=True)
               for weight, counts in ((1 - UNIFORM, confusions * possible), (UNIFORM, possible * 1.0)))


def measured(suspicion: Mapping[Pair, np.ndarray], planted: Planted) -> pd.DataFrame:
    """One row a ranking of the planted labels, best first: method, behavior, every detection metric, and its weight
    in the consensus."""
    rows = [{"method": pair.method, "behavior": pair.behavior,
             **detection(planted.flipped[planted.eligible], values[planted.eligible])}
            for pair, values in suspicion.items()]
    table = pd.DataFrame(rows)
    chance = planted.flipped.sum() / planted.eligible.sum()
    best = table.groupby("method")["AUPRC"].transform("max") == table["AUPRC"]
    table["weight"] = np.where(best, np.maximum(0.0, table["AUPRC"] - chance), 0.0) ** POWER
    return table.sort_values("AUPRC", ascending=False, kind="stable").reset_index(drop=True)


POWER = 4
"""How much more a method counts in the consensus that finds more, by its average precision above chance."""


def consensus(suspicion: Mapping[Pair, np.ndarray], table: pd.DataFrame) -> np.ndarray | None:
    """Minus the mean rank (n,) over methods, by their weights; None where none finds more than chance."""
    weights = {Pair(str(method), str(behavior)): float(weight) for method, behavior, weight in
               zip(table["method"], table["behavior"], table["weight"], strict=True)}
    voters = [(pair, weights[pair]) for pair in suspicion if weights.get(pair, 0.0) > 0 and pair != CONSENSUS]
    if not voters:
        return None
    mean = sum(weight * ranks(suspicion[pair]) for pair, weight in voters) / sum(weight for _, weight in voters)
    return -np.asarray(mean)
