r"""TRAK (Park et al. 2023): leave-one-out of a logistic regression on projected gradients.

A response counts as one event of probability p = exp(−ℓ), ℓ its mean token loss, so its margin log(p/(1 − p)) has the
gradient φ = −∇ℓ/(1 − p). With Φ (n, k) these features,

    score(q, k) = φ_B(q)ᵀ (ΦᵀΦ + λI)⁻¹ φ_k (1 − p_k) = −∇B(q)ᵀ (ΦᵀΦ + λI)⁻¹ ∇ℓ(z_k).

λ is `ridge` times the mean nonzero eigenvalue of ΦᵀΦ. Where n < k the same is solved in the n × n dual.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy.linalg

from engine.applications.language.estimators.estimator import LanguageEstimator, mean_query, products
from engine.applications.language.features import Features


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
    return inverse(-np.asarray(features.last.gradients) / doubt[:, None].astype(np.float32), features.ridge)


def inverse(phi: np.ndarray, ridge: float) -> Callable[[np.ndarray], np.ndarray]:
    """queries (m, k) -> queries (ΦᵀΦ + λI)⁻¹, (m, k). Factored in float64; a Gram matrix of n ≥ k rows is summed in
    the precision of Φ."""
    n, k = phi.shape
    damping = ridge * float(np.square(phi, dtype=np.float64).sum()) / min(n, k)
    if n >= k:
        gram = (phi.T @ phi).astype(np.float64)
        gram.flat[::k + 1] += damping
        factor = scipy.linalg.cho_factor(gram, overwrite_a=True)
        return lambda queries: scipy.linalg.cho_solve(factor, queries.T).T
    phi = phi.astype(np.float64)
    gram = phi @ phi.T  # Woodbury: (q − Φᵀ(ΦΦᵀ + λ)⁻¹Φq)/λ
    gram.flat[::n + 1] += damping
    dual = scipy.linalg.cho_factor(gram)
    return lambda queries: (queries - scipy.linalg.cho_solve(dual, phi @ queries.T).T @ phi) / damping


TRAK = LanguageEstimator("trak", "TRAK", "Leave-one-out of a logistic regression on projected gradients.",
                         "Park et al. 2023", score, intervention={"kind": "remove"}, process={"kind": "retrain"},
                         directions=directions)
