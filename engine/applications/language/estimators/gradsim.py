r"""GradSim: one more step on z_k changes B by −η⟨∇B(q), ∇ℓ(z_k)⟩ to first order; η, common to all, is left out."""

import numpy as np

from engine.applications.language.estimators.estimator import LanguageEstimator, mean_query, products
from engine.applications.language.features import Features


def score(features: Features, behavior: str) -> np.ndarray:
    return -products(features.last.queries[behavior], features.last.gradients)


def directions(features: Features, behavior: str) -> dict[int, np.ndarray]:
    return {len(features.points) - 1: -mean_query(features.last.queries[behavior])}


GRADSIM = LanguageEstimator("gradsim", "GradSim", "Inner product of gradients at the end of training.",
                            "Charpiat et al. 2019", score, intervention={"kind": "add_occurrence"},
                            process={"kind": "one_step", "eta": 0.1}, directions=directions)
