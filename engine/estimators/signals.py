r"""RepSim with the signals that it lacks (paper, Eq. 6, Tables A-16 and A-17): what it misses of a first-order score.

If the representation φ that similarities compare were read by one linear map, a step on z_k would change B by

    −⟨s_B(q), s_ℓ(k)⟩ ⟨φ_q, φ_k⟩,     s_ℓ = ∂ℓ/∂φ,  s_B = ∂B/∂φ,

or the same with signals in logits and the map's metric between them. RepSim keeps the similarity alone; augmented by
both signals it is similarity · ⟨s_B, s_ℓ⟩, whose sign the ranking chooses. A single signal has no partner; what stands
in for it is the readout of the label (`by_readout`), or the signal's own direction, so that its length enters
(`by_length`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from torch import Tensor

from engine.gradients.cached import products

Array = TypeVar("Array", np.ndarray, Tensor)


@dataclass(frozen=True)
class Augmented(Generic[Array]):
    """A similarity of queries and examples, to be multiplied by what signals make of each pair.

    inner(s_B, s_ℓ): ⟨s_B, s_ℓ⟩ of every pair. behavior_alone(s_B), training_alone(s_ℓ): what stands in for it where the
    other signal is left out. All broadcast with the similarity.
    """

    similarity: Array
    inner: Callable[[Array, Array], Array]
    behavior_alone: Callable[[Array], Array]
    training_alone: Callable[[Array], Array]

    def by(self, behavior: Array | None = None, training: Array | None = None) -> Array:
        """The similarity augmented by the signals that are given."""
        if behavior is not None and training is not None:
            return self.similarity * self.inner(behavior, training)
        if behavior is not None:
            return self.similarity * self.behavior_alone(behavior)
        return self.similarity if training is None else self.similarity * self.training_alone(training)


def by_readout(similarity: Tensor, metric: Tensor, readout: Tensor) -> Augmented[Tensor]:
    """Of n pairs: similarity (n,), signals (n, C), compared in a metric (C, C); readout (n, C) for what is left out."""
    def inner(behavior: Tensor, training: Tensor) -> Tensor:
        return ((behavior @ metric) * training).sum(1)

    return Augmented(similarity, inner, lambda signal: inner(signal, readout), lambda signal: inner(readout, signal))


def by_length(similarity: np.ndarray) -> Augmented[np.ndarray]:
    """Of all pairs: similarity (m, n), signals of queries (m, d) and of examples (n, d)."""
    return Augmented(similarity, products, lambda signal: np.linalg.norm(signal, axis=1)[:, None],
                     lambda signal: np.linalg.norm(signal, axis=1))
