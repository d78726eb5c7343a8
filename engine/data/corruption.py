"""Label noise with a fixed mask, symmetric or between classes that look alike, and a class-balanced trusted set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.basics.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Flags:
    """Which training examples carry a wrong label: for evaluation alone, no scorer takes it.

    noisy (n,): True where the observed label is wrong. labels (n,): the right ones, None where they are not known.
    """

    noisy: np.ndarray
    labels: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.noisy.setflags(write=False)

    def __len__(self) -> int:
        return len(self.noisy)


def flags_of(planted: Flags | None, known: np.ndarray | None, rows: np.ndarray) -> Flags | None:
    """Which labels of `rows` (b,) are wrong: those that were made so, and of the data's own flags (n,) those that were
    wrong before; None where neither is known."""
    before = None if known is None else known[rows]
    if planted is None:
        return None if before is None else Flags(before)
    return planted if before is None else Flags(planted.noisy | before, planted.labels)


def symmetric_noise(labels: np.ndarray, classes: int, rate: float, seed: int) -> tuple[np.ndarray, Flags]:
    """Give round(rate · n) of the labels (n,) another class, each with the same chance; (observed (n,), flags).

    The mask depends on n, classes, rate and seed alone. That of a lower rate is part of that of a higher one, with
    the same wrong labels. Raises `InvalidInput` for a rate outside [0, 1), or fewer than two classes.
    """
    if not 0 <= rate < 1:
        raise InvalidInput(f"The noise rate is {rate}; give a number from 0 to below 1.")
    if classes < 2:
        raise InvalidInput("With a single class no label can be wrong; give data with two or more classes.")
    generator = np.random.default_rng([seed, 1])
    order, shift = generator.permutation(len(labels)), generator.integers(1, classes, len(labels))
    noisy = np.zeros(len(labels), dtype=bool)
    noisy[order[:round(rate * len(labels))]] = True
    return np.where(noisy, (labels + shift) % classes, labels), Flags(noisy, np.array(labels))


def confusing_noise(x: np.ndarray, labels: np.ndarray, classes: int, rate: float, seed: int
                    ) -> tuple[np.ndarray, Flags]:
    """The same rows as `symmetric_noise` with another label: of the class whose mean is nearest to x (n, d), but their
    own; (observed (n,), flags). Raises as that does."""
    _, flags = symmetric_noise(labels, classes, rate, seed)
    present = np.unique(labels)
    means = np.stack([x[labels == label].mean(0) for label in present])
    distance = (means ** 2).sum(1) - 2 * x @ means.T
    distance[np.arange(len(x)), np.searchsorted(present, labels)] = np.inf
    return np.where(flags.noisy, present[distance.argmin(1)], labels), flags


def trusted_rows(labels: np.ndarray, classes: int, per_class: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(trusted rows (classes · per_class,), all other rows), each in random order, `per_class` of every class.

    Raises `InvalidInput` where a class has too few examples, or none.
    """
    counts = np.bincount(labels, minlength=classes)
    if counts.min() < per_class:
        scarce = int(counts.argmin())
        raise InvalidInput(f"Class {scarce} has {counts[scarce]:,} verified examples, fewer than the {per_class:,} "
                           "that the trusted set takes from every class; use fewer, or give more of that class.")
    order = np.random.default_rng([seed, 2]).permutation(len(labels))
    rank = np.empty(len(labels), dtype=np.int64)  # how many of its class come before it
    for label in range(classes):
        own = order[labels[order] == label]
        rank[own] = np.arange(len(own))
    return order[rank[order] < per_class], order[rank[order] >= per_class]
