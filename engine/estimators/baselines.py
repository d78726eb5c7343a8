"""Baselines that ask nothing of a behavior and imply no specification: the length of a gradient, and chance."""

from __future__ import annotations

import numpy as np

from engine.estimators.held import Features, Undivided

STREAM = 7
"""Sets the numbers of chance apart from all else that a seed draws."""


def _length(features: Features, behavior: str) -> np.ndarray:
    return np.broadcast_to(features.norms, features.shape)


def _chance(features: Features, behavior: str) -> np.ndarray:
    drawn = np.random.default_rng([features.seed, STREAM]).random(len(features.norms), dtype=np.float32)
    return np.broadcast_to(drawn, features.shape)


GRADIENT_LENGTH = Undivided(_length, "A length is no sum: the gradients of two tokens can cancel, so no token has a "
                                     "share of it.")
"""‖∇ℓ(z_k)‖, the same for every query."""

CHANCE = Undivided(_chance, "Chance reads no token.")
"""A number in [0, 1) for each record, the same for every query."""
