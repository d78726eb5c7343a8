r"""Removal, exactly: kernel ridge regression without each example in turn, in closed form (Allen 1974).

With one column per class, Y ∈ {0, 1}^{n×C} around its mean, k(x, x') = exp(−γ (1 − cos(x, x'))) on centred inputs,
weights w_k of the squared errors around their mean w̄ and A = K + λw̄ diag(1/w), α = A⁻¹Y, the fit and the fit without
z_k at z_k itself are

    f(x_k) = Y_k − (λw̄/w_k) α_k,    f_{−k}(x_k) = Y_k − α_k / (A⁻¹)_kk

so that the influence of z_k on any behavior at z_k follows without refitting:

    prediction        −f_{−k}(x_k)_y                    what the others say of the label
    self-influence    B(f(x_k)) − B(f_{−k}(x_k)),       B the hard margin, P removal, T re-optimised to the optimum

A label that only its own example speaks for has a large self-influence. More than `MOST` examples are parted at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import strtri

GAMMA, RIDGE = 2.0, 0.3
MOST = 10_000


@dataclass(frozen=True)
class Fits:
    """f(x_k) and f_{−k}(x_k), each (n, C)."""

    whole: np.ndarray
    without: np.ndarray


def fits(inputs: np.ndarray, labels: np.ndarray, classes: int, seed: int = 0, weights: np.ndarray | None = None
         ) -> Fits:
    """Of all examples. inputs (n, d), labels (n,), weights (n,) above 0, by default one each."""
    weights = np.ones(len(labels)) if weights is None else weights
    parts = -(-len(labels) // MOST)
    part_of = np.random.default_rng([seed, 6]).permutation(len(labels)) % parts
    whole, without = np.empty((len(labels), classes)), np.empty((len(labels), classes))
    for part in range(parts):
        rows = part_of == part
        whole[rows], without[rows] = _of_part(inputs[rows], np.eye(classes)[labels[rows]], weights[rows])
    return Fits(whole, without)


def prediction(made: Fits, labels: np.ndarray) -> np.ndarray:
    """Minus what the other examples give the label (n,)."""
    return -made.without[np.arange(len(labels)), labels]


def self_influence(made: Fits, labels: np.ndarray) -> np.ndarray:
    """What each example adds to its own margin (n,)."""
    return margin(made.whole, labels) - margin(made.without, labels)


def _of_part(inputs: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = np.asarray(inputs, dtype=np.float32)
    x = x - x.mean(0)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    kernel = np.exp(GAMMA * (x @ x.T - 1))
    ridge = (RIDGE * weights.mean() / weights).astype(np.float32)
    kernel[np.diag_indices(len(x))] += ridge
    factor = cholesky(kernel, lower=True, overwrite_a=True, check_finite=False)
    mean = targets.mean(0)
    y = (targets - mean).astype(np.float32)
    alpha = cho_solve((factor, True), y, check_finite=False)
    inverse, _ = strtri(factor, lower=1, overwrite_c=1)
    return y - ridge[:, None] * alpha + mean, y - alpha / np.einsum("ij,ij->j", inverse, inverse)[:, None] + mean


def margin(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The value (n,) of the label less the largest other one, of values (n, C)."""
    rows, others = np.arange(len(labels)), np.array(values)
    others[rows, labels] = -np.inf
    return values[rows, labels] - others.max(1)
