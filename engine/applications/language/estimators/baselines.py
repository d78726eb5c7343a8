"""Baselines that read no behavior: representation similarity, gradient length, and chance."""

import numpy as np

from engine.applications.language.estimators.estimator import LanguageEstimator, normalised, products
from engine.applications.language.features import Features


def repsim(features: Features, behavior: str) -> np.ndarray:
    """Cosine of the representations of the two prompts, at the layer that the features were read from."""
    return products(normalised(features.query_hidden[features.layer]), normalised(features.hidden[features.layer]))


def gradient_norm(features: Features, behavior: str) -> np.ndarray:
    """‖∇ℓ(z_k)‖, the same for every query."""
    return np.broadcast_to(features.norms, features.shape)


def random(features: Features, behavior: str) -> np.ndarray:
    """A number in [0, 1) for each record, the same for every query."""
    drawn = np.random.default_rng([features.seed, 7]).random(len(features.norms), dtype=np.float32)
    return np.broadcast_to(drawn, features.shape)


REPSIM = LanguageEstimator("repsim", "RepSim", "Cosine of the prompts' representations.", "Hanawa et al. 2021",
                           repsim, behavioral=False, intervention={"kind": "auxiliary"},
                           process={"kind": "one_step", "eta": 0.1},
                           whole="RepSim reads one position, the end of the prompt, so no token of the response has a "
                                 "part in its score.")
GRADIENT_NORM = LanguageEstimator("gradient_norm", "Grad. norm", "Length of a record's training gradient.", "",
                                  gradient_norm, behavioral=False, directed=False,
                                  whole="A length is no sum: the gradients of two tokens can cancel, so no token has a "
                                        "share of it.")
RANDOM = LanguageEstimator("random", "Random", "Chance.", "", random, behavioral=False, directed=False,
                           whole="Chance reads no token.")
