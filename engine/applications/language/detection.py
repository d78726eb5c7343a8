"""What the tables of the language studies measure, beside `engine.metrics.detection`: flags (n,) bool, scores (n,)."""

from __future__ import annotations

import numpy as np

from engine.metrics import detection as measures
from engine.metrics.detection import auprc, expected_in_top, precision_at

__all__ = ["TOP", "auprc", "detection", "false_positive_rate", "precision_at", "top"]

TOP = 0.10
"""The fraction of records that counts as found, for the false-positive rate and for removal."""
FRACTIONS = (0.05, TOP)


def top(scores: np.ndarray, fraction: float) -> np.ndarray:
    """The rows of the ⌈share · n⌉ largest scores, the largest first; ties go to the earlier row."""
    return np.argsort(-scores, kind="stable")[:int(np.ceil(fraction * len(scores) - 1e-9))]


def false_positive_rate(innocent: np.ndarray, scores: np.ndarray, fraction: float = TOP) -> float:
    """The fraction of the innocent records among the top `fraction` of all: the top that `precision_at` counts."""
    return expected_in_top(innocent, scores, fraction) / max(1, int(innocent.sum()))


def detection(flags: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """The measures that the paper's tables print, by their names there: AUPRC, AUROC, P@5% and P@10%."""
    return measures.detection(flags, scores, FRACTIONS)
