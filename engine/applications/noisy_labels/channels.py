"""Inputs with every channel centred and scaled: (x − μ_c)/σ_c, with mean and spread over the training set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def standardised(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each of several inputs (b, channels, …) or (b, features), float32, by the statistics of the first.

    A channel that does not vary there is centred alone.
    """
    first = inputs[0]
    axes = (0, *range(2, first.ndim))
    mean = first.mean(axes, dtype=np.float64, keepdims=True)
    spread = first.std(axes, dtype=np.float64, keepdims=True)
    scale = np.where(spread > 0, spread, 1.0)
    return [((one - mean) / scale).astype(np.float32) for one in inputs]
