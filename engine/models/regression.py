r"""Multinomial logistic regression on features, with the penalty that predicts held-out labels best.

    L(W, b) = Σ_i w_i ℓ(z_i; W, b) / Σ_i w_i + (λ/2)‖W‖²,     ℓ the cross-entropy of the logits Wᵀx + b

by scikit-learn, for which C = 1 / (λ Σ_i w_i). λ is the one of `PENALTIES` with the least cross-entropy on a fifth of
the labels that was left out, stratified, walked from `FIRST` to weaker ones, or else to stronger ones, while it falls:
nobody's knowledge of which labels are wrong plays a part.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

PENALTIES = tuple(10.0 ** (half / 2) for half in range(1, -9, -1))
"""λ, from about 3 down to 1e-4."""
FIRST = 3
"""Of `PENALTIES`, where the search for λ starts: 0.1."""
MOST_STEPS = 1000
TOLERANCE = 1e-3
"""At which largest component of the gradient of L a fit ends."""
NUMERICS = 2
FOLDS = 5
ABSENT = -30.0
"""The logit of a class that no example has."""


def fit_regression(x: np.ndarray, y: np.ndarray, classes: int, penalty: float, weights: np.ndarray | None = None,
                   tolerance: float = TOLERANCE) -> nn.Sequential:
    """The linear layer (F) -> (C) of features x (n, F) float32, labels y (n,) and weights (n,), by default one each."""
    rows = slice(None) if weights is None else weights > 0
    fitted = _fitted(_regression(tolerance), x[rows], y[rows], penalty, None if weights is None else weights[rows])
    return _module(fitted, x.shape[1], classes)


def choose_penalty(x: np.ndarray, y: np.ndarray, seed: int, check: Callable[[], None] = lambda: None,
                   tolerance: float = TOLERANCE) -> float:
    """λ for features x (n, F) and labels y (n,). seed: of the split; check: called before each fit."""
    held, regression = _left_out(y, seed), _regression(tolerance)
    rest, labels, measured, left_out = x[~held], y[~held], x[held], y[held]

    def loss(penalty: float) -> float:
        check()
        fitted = _fitted(regression, rest, labels, penalty)
        p = fitted.predict_proba(measured)[np.arange(len(measured)), np.searchsorted(fitted.classes_, left_out)]
        return -float(np.log(np.maximum(p, 1e-12)).mean())

    best, least = PENALTIES[FIRST], loss(PENALTIES[FIRST])
    for direction in (PENALTIES[FIRST + 1:], PENALTIES[:FIRST][::-1]):
        for penalty in direction:
            current = loss(penalty)
            if current >= least:
                break
            best, least = penalty, current
        if best != PENALTIES[FIRST]:
            break
    return best


def _regression(tolerance: float) -> LogisticRegression:
    """It starts each fit where the last one ended."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=MOST_STEPS, tol=tolerance, warm_start=True)


def _fitted(regression: LogisticRegression, x: np.ndarray, y: np.ndarray, penalty: float,
            weights: np.ndarray | None = None) -> LogisticRegression:
    """Of two classes scikit-learn has the difference w of their weights ±w/2, whose penalty is half as large."""
    total = len(y) if weights is None else float(weights.sum())
    regression.C = (2.0 if len(np.unique(y)) == 2 else 1.0) / (penalty * total)
    return regression.fit(x, y, weights)


def head(features: int, classes: int) -> nn.Sequential:
    """The layer of zeros, whose classes are all absent."""
    linear = nn.Linear(features, classes)
    with torch.no_grad():
        linear.weight.zero_()
        linear.bias.fill_(ABSENT)
    return nn.Sequential(OrderedDict(flatten=nn.Flatten(), head=linear)).eval()


def _module(fitted: LogisticRegression, features: int, classes: int) -> nn.Sequential:
    coefficients, intercepts = fitted.coef_, fitted.intercept_
    if len(fitted.classes_) == 2:
        coefficients, intercepts = (np.concatenate([-half, half]) for half in (coefficients / 2, intercepts / 2))
    module = head(features, classes)
    linear = module.get_submodule("head")
    assert isinstance(linear, nn.Linear)
    with torch.no_grad():
        linear.weight[fitted.classes_] = torch.from_numpy(coefficients).to(linear.weight)
        linear.bias[fitted.classes_] = torch.from_numpy(intercepts).to(linear.bias)
    return module


def _left_out(y: np.ndarray, seed: int) -> np.ndarray:
    """Which examples measure, (n,) bool: a fifth of every class, none of a class that has a single example."""
    counts, held = np.bincount(y), np.zeros(len(y), dtype=bool)
    rows = np.random.default_rng(seed).permutation(len(y))
    for label in np.flatnonzero(counts > 1):
        of_class = rows[y[rows] == label]
        held[of_class[:-(-len(of_class) // FOLDS)]] = True
    return held
