r"""TracIn: −Σ_c η_c⟨∇B(q; θ_c), ∇ℓ(z_k; θ_c)⟩, with η_c the learning rates that checkpoint c stands for."""

import numpy as np

from engine.applications.language.estimators.estimator import LanguageEstimator, mean_query, products
from engine.applications.language.features import Features


def score(features: Features, behavior: str) -> np.ndarray:
    terms = [point.weight * products(point.queries[behavior], point.gradients) for point in features.points]
    return -np.asarray(sum(terms))


def directions(features: Features, behavior: str) -> dict[int, np.ndarray]:
    return {place: -point.weight * mean_query(point.queries[behavior]) for place, point in enumerate(features.points)}


TRACIN = LanguageEstimator("tracin", "TracIn", "GradSim summed over checkpoints, weighted by learning rates.",
                           "Pruthi et al. 2020", score, intervention={"kind": "add_occurrence"},
                           process={"kind": "trajectory", "eta": 0.1}, directions=directions)
