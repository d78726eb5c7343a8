r"""Which method finds wrong labels here: some labels of the data at hand are made wrong, and every method searches.

A fraction of the labels is flipped, of examples whose label a model that has not seen them agrees with, so that most
were right before. A label a becomes b with probability

    P(b | a) ∝ 1 + #{k : y_k = b, argmax p(k) = a},   b ≠ a

the confusions that the model suspects in these data. A method is measured by its average precision among the examples
that could have been flipped: what was wrong before in the others counts neither for it nor against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.basics.errors import InvalidInput
from engine.metrics.detection import detection
from engine.metrics.ranking import ranks

FRACTION = 0.05
LEAST = 5


@dataclass(frozen=True, eq=False)
class Planted:
    """labels (n,) with some flipped, which of them are (n,), and which could have been (n,)."""

    labels: np.ndarray
    flipped: np.ndarray
    eligible: np.ndarray


def plant(labels: np.ndarray, predicted: np.ndarray, classes: int, seed: int, fraction: float = FRACTION) -> Planted:
    """Flip a fraction of the labels (n,). predicted (n,): by a model that has not seen the example.

    Raises `InvalidInput` where too few labels can be flipped.
    """
    eligible, count = predicted == labels, round(fraction * len(labels))
    if min(count, eligible.sum() / 2) < LEAST:
        raise InvalidInput(f"Only {int(min(count, eligible.sum() // 2)):,} labels can be flipped, fewer than "
                           f"{LEAST}, so that no method can be measured here; search more labels.")
    rng = np.random.default_rng([seed, 8])
    rows = rng.permutation(np.flatnonzero(eligible))[:min(count, int(eligible.sum()) // 2)]
    confusions = np.ones((classes, classes))
    np.add.at(confusions, (predicted, labels), 1.0)
    confusions[:, ~np.isin(np.arange(classes), labels)] = 0
    np.fill_diagonal(confusions, 0)
    flipped = np.zeros(len(labels), dtype=bool)
    flipped[rows] = True
    changed = np.array(labels)
    for row in rows:
        weights = confusions[labels[row]]
        changed[row] = rng.choice(classes, p=weights / weights.sum())
    return Planted(changed, flipped, eligible)


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
