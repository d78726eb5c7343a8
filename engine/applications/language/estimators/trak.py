r"""TRAK (Park et al. 2023): leave-one-out of a logistic regression on projected gradients.

A response counts as one event of probability p = exp(−ℓ), ℓ its mean token loss, so its margin log(p/(1 − p)) has the
gradient φ = −∇ℓ/(1 − p). With Φ (n, k) these features,

    score(q, k) = φ_B(q)ᵀ (ΦᵀΦ + λI)⁻¹ φ_k (1 − p_k) = −∇B(q)ᵀ (ΦᵀΦ + λI)⁻¹ ∇ℓ(z_k).

λ is `ridge` times the mean nonzero eigenvalue of ΦᵀΦ. Where n < k the same is solved in the n × n dual.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch

from engine.applications.language.estimators.estimator import LanguageEstimator, mean_query, products
from engine.applications.language.features import Features
from engine.estimators.ridge import regularised_inverse


def score(features: Features, behavior: str) -> np.ndarray:
    queries = np.asarray(features.last.queries[behavior], dtype=np.float64)
    return -products(_inverse(features)(queries), features.last.gradients)


def directions(features: Features, behavior: str) -> dict[int, np.ndarray]:
    query = mean_query(features.last.queries[behavior])[None]
    return {len(features.points) - 1: -_inverse(features)(query)[0]}


@lru_cache(maxsize=1)
def _inverse(features: Features) -> Callable[[np.ndarray], np.ndarray]:
    """(ΦᵀΦ + λI)⁻¹ of the features, shared by all behaviors."""
    doubt = np.maximum(-np.expm1(-features.losses.astype(np.float64)), 1e-6)
    phi = -np.asarray(features.last.gradients) / doubt[:, None].astype(np.float32)
    solve = regularised_inverse(torch.from_numpy(phi), features.ridge)
    return lambda rows: solve(torch.from_numpy(rows)).numpy()


TRAK = LanguageEstimator("trak", "TRAK", "Leave-one-out of a logistic regression on projected gradients.",
                         "Park et al. 2023", score, intervention={"kind": "remove"}, process={"kind": "retrain"},
                         directions=directions)
