r"""What many trainings are given instead of a problem's own weights and labels: a removal, a weight, another label.

Of a set G of examples that an intervention changes, with the `engine.question.change.Change` of one example,

    remove, over n−1   w_G = 0, the mean over the n − |G| that are left
    remove, over n     w_G = 0, the mean over n
    upweight(α)        w_G = 1 + nα, the mean over n: L_D + α Σ_{k ∈ G} ℓ(z_k)
    relabel(y')        y_G = y'
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.models.training import Normalization


@dataclass(frozen=True)
class Altered:
    """What J trainings are given instead of the problem's own: weights (J, n), and labels (J, n) or None for its own.

    normalization: whether a mean runs over what has a weight, or over all n examples.
    """

    weights: Tensor
    labels: Tensor | None = None
    normalization: Normalization = "n-1"

    def __len__(self) -> int:
        return len(self.weights)

    def split(self, size: int) -> list[Altered]:
        """In parts of `size` trainings at most."""
        labels = [None] * len(self) if self.labels is None else self.labels.split(size)
        return [Altered(weights, own, self.normalization)
                for weights, own in zip(self.weights.split(size), labels, strict=False)]

    @classmethod
    def without(cls, rows: list[Tensor], n: int) -> Altered:
        """Trainings on all but the examples `rows[j]` (b_j,) of n."""
        weights = torch.ones(len(rows), n, dtype=torch.float64, device=rows[0].device)
        for own, left_out in zip(weights, rows, strict=True):
            own[left_out] = 0.0
        return cls(weights)

    def denominators(self, weights: Tensor) -> Tensor:
        """N of each training for some of the examples, whose weights are (J, b): (J,), at least 1."""
        counted = (weights != 0).sum(1) if self.normalization == "n-1" else torch.full_like(weights[:, 0],
                                                                                           weights.shape[1])
        return counted.clamp(min=1)
