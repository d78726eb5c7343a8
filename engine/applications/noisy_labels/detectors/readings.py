"""What methods without an influence read of a training set and of the models that judge it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from engine.applications.noisy_labels.detectors import kernel_removal


class Readings:
    """Labels (n,) as they came, and what models say of the examples; what a method does not read is not computed."""

    labels: np.ndarray
    seed: int

    @property
    def probabilities(self) -> np.ndarray:
        """p (n, C) by models that were trained without the example's fold."""
        raise NotImplementedError

    def refitted(self, weights: np.ndarray, penalty: float) -> np.ndarray:
        """The same by models that train each example with its weight (n,), and with that many times the penalty."""
        raise NotImplementedError

    @property
    def path(self) -> np.ndarray:
        """Logits (T, n, C) at the recorded checkpoints of one training on all labels; T is 0 where none is recorded."""
        raise NotImplementedError

    @property
    def features(self) -> np.ndarray:
        """The model's representation (n, d) of the examples."""
        raise NotImplementedError

    @property
    def inputs(self) -> np.ndarray:
        """What the model reads of the examples, (n, d)."""
        raise NotImplementedError

    @property
    def references(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows (r,) that are held against examples apart from them, with representations (m, d) and labels (m,) of
        these; each row stands in one or more."""
        raise NotImplementedError

    @cached_property
    def removal(self) -> kernel_removal.Fits:
        """Kernel ridge regression on the inputs, with and without each example."""
        return kernel_removal.fits(self.inputs, self.labels, int(self.labels.max()) + 1, self.seed)


class Probabilities(Readings):
    """Of out-of-fold probabilities (n, C) that are at hand."""

    def __init__(self, labels: np.ndarray, probabilities: np.ndarray) -> None:
        self.labels, self._probabilities = labels, probabilities

    @property
    def probabilities(self) -> np.ndarray:
        return self._probabilities
