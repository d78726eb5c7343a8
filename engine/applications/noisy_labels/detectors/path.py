r"""Suspicion from what one training says of its own examples: logits z^t (T, n, C) at T recorded checkpoints.

    area under the margin   −1/T Σ_t (z^t_y − max_{j≠y} z^t_j)                   Pleiss et al. 2020
    EL2N                    ‖softmax(z^1) − e_y‖₂, at the first checkpoint       Paul et al. 2021
    forgetting events       #{t : right at t, wrong at t + 1}                    Toneva et al. 2019
    mean loss               1/T Σ_t −log softmax(z^t)_y

The authors read every epoch, and EL2N the mean over ten trainings. Here the checkpoints of the one training count: with
few of them forgetting events have few values. An example that no checkpoint has right ranks before all others, as the
authors have it.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, softmax


def area_under_margin(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """Minus the mean margin (n,) of the label's logit."""
    own = _own(labels, logits)
    others = np.array(logits, dtype=np.float64)
    others[:, np.arange(len(labels)), labels] = -np.inf
    return -(own - others.max(-1)).mean(0)


def el2n(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """The norm of the error (n,) at the first checkpoint, in [0, √2]."""
    error = softmax(np.asarray(logits[0], dtype=np.float64), axis=-1)
    error[np.arange(len(labels)), labels] -= 1
    return np.linalg.norm(error, axis=-1)


def forgetting(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """How often an example (n,) is forgotten between checkpoints; T where none has it right."""
    right = logits.argmax(-1) == labels
    events = (right[:-1] & ~right[1:]).sum(0)
    return np.where(right.any(0), events, len(logits)).astype(np.float64)


def mean_loss(labels: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """The mean cross-entropy (n,) in nats."""
    return -_own(labels, log_softmax(np.asarray(logits, dtype=np.float64), axis=-1)).mean(0)


def _own(labels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The column of the label, (T, n)."""
    return np.asarray(values, dtype=np.float64)[:, np.arange(len(labels)), labels]
