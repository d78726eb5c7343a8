"""How well a suspicion score finds wrong labels: AUPRC, AUROC and precision among the most suspicious.

flags (n,) bool, True where the label is wrong; suspicion (n,), larger where it is more likely wrong. Pure functions;
scikit-learn counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.basics.errors import InvalidInput
from engine.metrics.agreement import top_size

FRACTIONS = (0.01, 0.05, 0.10)


def precision_title(fraction: float) -> str:
    """`P@5%`."""
    return f"P@{fraction * 100:g}%"


METRICS = ("AUPRC", "AUROC", *map(precision_title, FRACTIONS))


def detection(flags: np.ndarray, suspicion: np.ndarray, fractions: Sequence[float] = FRACTIONS) -> dict[str, float]:
    """Title -> value: `AUPRC` (average precision), `AUROC`, and `P@k%` for each fraction k.

    Scores that are not all finite rank nothing: every value is NaN. Raises `InvalidInput` for arrays of different
    lengths, and where no label or every label is wrong.
    """
    from sklearn.metrics import roc_auc_score

    flags, suspicion = checked(flags, suspicion)
    names = ("AUPRC", "AUROC", *map(precision_title, fractions))
    if not np.isfinite(suspicion).all():
        return dict.fromkeys(names, math.nan)
    return {"AUPRC": auprc(flags, suspicion), "AUROC": float(roc_auc_score(flags, suspicion)),
            **{precision_title(fraction): precision_at(flags, suspicion, fraction) for fraction in fractions}}


def auprc(flags: np.ndarray, suspicion: np.ndarray) -> float:
    """Area under the precision–recall curve, as average precision; chance is the fraction of flagged examples."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(*checked(flags, suspicion)))


def auroc_by_chance(flagged: int, others: int, level: float) -> float:
    """What the AUROC of a random ranking exceeds with probability `level`: 1/2 + z √((m + n + 1)/(12 m n)).

    The one-sided rank-sum test of Mann and Whitney (1947), in its normal approximation, for m flagged of m + n.
    """
    from scipy.stats import norm

    return float(0.5 + norm.isf(level) * math.sqrt((flagged + others + 1) / (12 * flagged * others)))


def precision_at(flags: np.ndarray, suspicion: np.ndarray, fraction: float) -> float:
    """The fraction of wrong labels among the s = max(1, round(fraction · n)) most suspicious.

    Where examples with equal scores stand across the border, the value expected of drawing among them.
    """
    flags, suspicion = checked(flags, suspicion)
    return expected_in_top(flags, suspicion, fraction) / top_size(len(flags), fraction)


def expected_in_top(flags: np.ndarray, scores: np.ndarray, fraction: float) -> float:
    """How many flagged examples are among the s = max(1, round(fraction · n)) largest scores.

    Where examples with equal scores stand across the border, the value expected of drawing among them.
    """
    size = top_size(len(flags), fraction)
    border = np.partition(scores, -size)[-size]
    above, level = scores > border, scores == border
    return float(flags[above].sum() + (size - above.sum()) * flags[level].mean())


def recall_at(flags: np.ndarray, scores: np.ndarray, size: int) -> float:
    """The fraction of flagged examples among the `size` largest scores (Recall@k); ties as in the array."""
    flags, scores = checked(flags, scores)
    return float(flags[np.argsort(-scores, kind="stable")[:size]].sum() / flags.sum())


def reciprocal_rank(flags: np.ndarray, scores: np.ndarray) -> float:
    """1 over the rank of the first flagged example; its mean over queries is the MRR. Ties as in the array."""
    flags, scores = checked(flags, scores)
    return 1.0 / (1 + int(np.argmax(flags[np.argsort(-scores, kind="stable")])))


def precision_recall(flags: np.ndarray, suspicion: np.ndarray, points: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """(precision, recall) along the ranking from the most suspicious on, thinned to `points` of them."""
    from sklearn.metrics import precision_recall_curve

    flags, suspicion = checked(flags, suspicion)
    precision, recall, _ = precision_recall_curve(flags, suspicion)
    precision, recall = precision[-2::-1], recall[-2::-1]  # without the point (1, 0) that no threshold has
    shown = np.unique(np.linspace(0, len(recall) - 1, points).round().astype(int))
    return precision[shown], recall[shown]


def checked(flags: np.ndarray, suspicion: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays. Raises `InvalidInput` where they do not go together."""
    flags, suspicion = np.asarray(flags, dtype=bool), np.asarray(suspicion, dtype=np.float64)
    if flags.shape != suspicion.shape or flags.ndim != 1:
        raise InvalidInput(f"There are {flags.size:,} flags and {suspicion.size:,} scores; give one "
                           "of each per example.")
    if flags.all() or not flags.any():
        raise InvalidInput("Detection cannot be measured if no label or every label is wrong; choose a noise rate "
                           "above 0, or data whose flags are known.")
    return flags, suspicion
