r"""TracIn: −Σ_c η_c⟨∇B(q; θ_c), ∇ℓ(z_k; θ_c)⟩, with η_c the learning rates that checkpoint c stands for."""

import numpy as np

from engine.language.estimators.estimator import LanguageEstimator, products
from engine.language.features import Features


def score(features: Features, behavior: str) -> np.ndarray:
    return -sum(point.weight * products(point.queries[behavior], point.gradients) for point in features.points)


TRACIN = LanguageEstimator("tracin", "TracIn", "GradSim summed over checkpoints, weighted by learning rates.",
                           "Pruthi et al. 2020", score, intervention={"kind": "add_occurrence"},
                           process={"kind": "trajectory", "eta": 0.1})
