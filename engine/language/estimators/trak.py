r"""TRAK (Park et al. 2023): leave-one-out of a logistic regression on projected gradients.

A response counts as one event of probability p = exp(−ℓ), ℓ its mean token loss, so its margin log(p/(1 − p)) has the
gradient φ = −∇ℓ/(1 − p). With Φ (n, k) these features,

    score(q, k) = φ_B(q)ᵀ (ΦᵀΦ + λI)⁻¹ φ_k (1 − p_k) = −∇B(q)ᵀ (ΦᵀΦ + λI)⁻¹ ∇ℓ(z_k).

λ is `ridge` times the mean nonzero eigenvalue of ΦᵀΦ. Where n < k the same is solved in the n × n dual.
"""

import numpy as np
import scipy.linalg

from engine.language.estimators.estimator import LanguageEstimator, products
from engine.language.features import Features


def score(features: Features, behavior: str) -> np.ndarray:
    gradients = np.asarray(features.last.gradients, dtype=np.float64)
    phi = -gradients / np.maximum(-np.expm1(-features.losses.astype(np.float64)), 1e-6)[:, None]
    queries = np.asarray(features.last.queries[behavior], dtype=np.float64)
    return -products(inverse(phi, queries, features.ridge), gradients)


def inverse(phi: np.ndarray, queries: np.ndarray, ridge: float) -> np.ndarray:
    """(ΦᵀΦ + λI)⁻¹ applied to every query, (m, k)."""
    n, k = phi.shape
    damping = ridge * float(np.square(phi).sum()) / min(n, k)
    if n >= k:
        gram = phi.T @ phi
        gram.flat[::k + 1] += damping
        return scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), queries.T).T
    gram = phi @ phi.T  # Woodbury: (q − Φᵀ(ΦΦᵀ + λ)⁻¹Φq)/λ
    gram.flat[::n + 1] += damping
    inner = scipy.linalg.cho_solve(scipy.linalg.cho_factor(gram), phi @ queries.T)
    return (queries - inner.T @ phi) / damping


TRAK = LanguageEstimator("trak", "TRAK", "Leave-one-out of a logistic regression on projected gradients.",
                         "Park et al. 2023", score, intervention={"kind": "remove"}, process={"kind": "retrain"})
