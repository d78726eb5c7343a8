r"""LESS (Xia et al. 2024): −Σ_c η_c cos(∇B(q; θ_c), Γ(z_k; θ_c)), with Γ the update that Adam makes on z_k alone."""

import numpy as np

from engine.applications.language.estimators.estimator import LanguageEstimator, mean_query, normalised, products
from engine.applications.language.features import Features


def score(features: Features, behavior: str) -> np.ndarray:
    terms = [point.weight * products(normalised(point.queries[behavior]), normalised(point.conditioned))
             for point in features.points]
    return -np.asarray(sum(terms))


def directions(features: Features, behavior: str) -> dict[int, np.ndarray]:
    """For updates at length one."""
    return {place: -point.weight * mean_query(normalised(point.queries[behavior]))
            for place, point in enumerate(features.points)}


LESS = LanguageEstimator("less", "LESS", "Cosine of query gradients and Adam's updates, over checkpoints.",
                         "Xia et al. 2024", score, intervention={"kind": "add_occurrence"},
                         process={"kind": "trajectory", "eta": 0.1}, directions=directions,
                         conditioned=True)
