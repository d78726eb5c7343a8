"""How well a score finds flagged records: thin functions on scikit-learn's. Flags are (n,) bool, scores (n,)."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

TOP = 0.10
"""The share of records that counts as found, for the false-positive rate and for removal."""


def auprc(flags: np.ndarray, scores: np.ndarray) -> float:
    """Area under the precision-recall curve as average precision; chance is the share of flagged records."""
    return float(average_precision_score(flags, scores))


def auroc(flags: np.ndarray, scores: np.ndarray) -> float:
    """Area under the receiver operating curve; chance is one half."""
    return float(roc_auc_score(flags, scores))


def top(scores: np.ndarray, share: float) -> np.ndarray:
    """The rows of the ⌈share · n⌉ largest scores, the largest first; ties go to the earlier row."""
    return np.argsort(-scores, kind="stable")[:int(np.ceil(share * len(scores) - 1e-9))]


def precision_at(flags: np.ndarray, scores: np.ndarray, share: float) -> float:
    """The share of flagged records among the top `share`."""
    return float(np.mean(flags[top(scores, share)]))


def false_positive_rate(innocent: np.ndarray, scores: np.ndarray, share: float = TOP) -> float:
    """The share of the innocent records that are among the top `share` of all."""
    return float(innocent[top(scores, share)].sum() / max(1, innocent.sum()))


def detection(flags: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """The measures that the paper's tables print, by their names there."""
    return {"AUPRC": auprc(flags, scores), "AUROC": auroc(flags, scores),
            "P@5%": precision_at(flags, scores, 0.05), "P@10%": precision_at(flags, scores, 0.10)}
