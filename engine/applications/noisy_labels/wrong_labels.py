r"""How many labels are wrong: counted by confident learning, and known from rows that were sampled and verified.

Confident learning (Northcutt, Jiang & Chuang 2021, JAIR 70) takes the label ỹ_k of an example for wrong where another
class j is confident, p_j(x_k) ≥ t_j with t_j = mean of p_j over the examples of label j, and the most probable class is
another one than ỹ_k; p is out of fold. It counts right labels that the model contradicts and misses wrong ones that it
agrees with, so that the bootstrap interval says how far the count varies over examples, and not how far it is from the
truth.

A simple random sample that somebody verified knows no such error. With F examples flagged and U not, of which m_F and
m_U were verified and w_F and w_U are wrong,

    q = (F/n)·w_F/m_F + (U/n)·w_U/m_U,      interval: q ∓ √(Σ_g (n_g/n)² d_g²),

d_g the distance from w_g/m_g to the lower or the upper end of its Wilson interval (MOVER, Zou & Donner 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

REPEATS = 100
LEVEL = 0.95


@dataclass(frozen=True)
class Fraction:
    """A fraction of the labels with its 95% interval, each in [0, 1]; of: how many examples tell it."""

    value: float
    low: float
    high: float
    of: int

    def sentence(self, n: int) -> str:
        """As a count of n labels."""
        return (f"{round(n * self.value):,} of {n:,} labels ({self.value:.1%}, 95% interval {self.low:.1%} to "
                f"{self.high:.1%})")


def flagged(labels: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Which labels (n,) confident learning takes for wrong, (n,) bool. p (n, C): out-of-fold probabilities."""
    flags = p.argmax(1) != labels
    flags[flags] = _contradicted(labels[flags], p[flags], _thresholds(labels, p[np.arange(len(labels)), labels],
                                                                     p.shape[1]))
    return flags


def _thresholds(labels: np.ndarray, own: np.ndarray, classes: int, times: np.ndarray | None = None) -> np.ndarray:
    """t (C,), infinite for a class without an example. own (n,): p of the label; times (n,): how often each counts."""
    counts, sums = (np.bincount(labels, weights, classes) for weights in (times, own if times is None else times * own))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)


def _contradicted(labels: np.ndarray, p: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Where the most probable of the confident classes is another one than the label, (m,) bool."""
    confident = np.where(p >= thresholds - 1e-6, p, -1)
    top = confident.argmax(1)
    return (confident[np.arange(len(top)), top] >= 0) & (top != labels)


def counted(labels: np.ndarray, p: np.ndarray, seed: int = 0, repeats: int = REPEATS) -> Fraction:
    """The fraction that confident learning counts, with the percentile interval of a bootstrap over examples."""
    rng, n, own = np.random.default_rng([seed, 6]), len(labels), p[np.arange(len(labels)), labels]
    rows, values = np.flatnonzero(p.argmax(1) != labels), []
    doubted, theirs = labels[rows], p[rows]
    for _ in range(repeats):
        times = np.bincount(rng.integers(0, n, n), minlength=n)
        contradicted = _contradicted(doubted, theirs, _thresholds(labels, own, p.shape[1], times))
        values.append(float(times[rows] @ contradicted) / n)
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Fraction(float(flagged(labels, p).mean()), float(low), float(high), n)


def verified(flags: np.ndarray, rows: np.ndarray, wrong: np.ndarray) -> Fraction:
    """The fraction of wrong labels by rows (m,) that were sampled at random and verified. flags (n,): what confident
    learning flags of all; wrong (m,): which of the verified ones are wrong.

    A group without a verified row takes the whole interval from 0 to 1, and as value what the other one has.
    """
    parts, known = [], wrong.mean() if len(wrong) else 0.0
    for group in (True, False):
        weight, own = float((flags == group).mean()), wrong[flags[rows] == group]
        if not weight:
            continue
        interval = binomtest(int(own.sum()), len(own)).proportion_ci(LEVEL, "wilson") if len(own) else None
        value = float(own.mean()) if len(own) else float(known)
        low, high = (interval.low, interval.high) if interval else (0.0, 1.0)
        parts.append((weight, value, value - low, high - value))
    value = sum(weight * one for weight, one, _, _ in parts)
    below, above = (float(np.sqrt(sum((part[0] * part[side]) ** 2 for part in parts))) for side in (2, 3))
    return Fraction(value, max(0.0, value - below), min(1.0, value + above), len(rows))


def sampled(labels: np.ndarray, size: int, least: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(a simple random sample of rows, those that are added so that each class has `least` of them), in random order.

    labels (n,). The first alone tells how many labels are wrong; both represent the classes.
    """
    order = np.random.default_rng([seed, 7]).permutation(len(labels))
    first, rest = order[:size], order[size:]
    more = [rest[labels[rest] == label][:max(0, least - int((labels[first] == label).sum()))]
            for label in np.unique(labels)]
    return first, np.concatenate(more) if more else rest[:0]
