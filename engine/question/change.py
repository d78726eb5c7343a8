r"""What an intervention does to the training objective: one pure value that every process reads.

With a the scale of the data loss, c the weight of z_k's own loss beside it and (c_j, y_j) further labels on x_k, the
intervened objective is

    F_k(θ) = (a/n) Σ_i ℓ(z_i; θ) + c ℓ((x_k, y_k); θ) + Σ_j c_j ℓ((x_k, y_j); θ) + (λ/2)‖θ‖².

The same change as a training sees it: z_k counts `weight` times, carries `label`, and the mean runs over all n
examples or over the n−1 others.

    upweight(α)        a = 1,        c = α                              weight 1 + nα
    infinitesimal      the derivative of upweighting at α = 0: c = 1
    remove, over n−1   a = n/(n−1),  c = −1/(n−1)                       weight 0, over n−1
    remove, over n     a = 1,        c = −1/n                           weight 0
    relabel(y')        a = 1,        c = −1/n,   (1/n, y')              label y'

`add_occurrence` and `auxiliary` change the objective of an update, not that of the training, and have no such value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Change:
    """F_k as above: scale a, own c, further ((c_j, y_j), …), and what a training is given.

    size: what c is a multiple of, so that a linear response is that of `unit` times `size`.
    """

    scale: float = 1.0
    own: float = 0.0
    further: tuple[tuple[float, int], ...] = ()
    weight: float = 1.0
    label: int | None = None
    normalization: Literal["n", "n-1"] = "n"
    size: float = 1.0

    @property
    def mass(self) -> float:
        """c + Σ_j c_j: how much loss on x_k is added, whatever its label."""
        return self.own + sum(weight for weight, _ in self.further)

    @property
    def unit(self) -> Change:
        """The change of size one whose linear response, times `size`, is that of this change."""
        if self.size == 1.0:
            return self
        return replace(self, own=1.0, weight=1.0, size=1.0)

    def of_each(self, size: int, n: int) -> Change:
        """The same made to each of `size` of n examples at once: a mean over the others runs over n − size of them."""
        if self.normalization == "n":
            return self
        return replace(self, scale=n / (n - size), own=-1.0 / (n - size))

    def terms(self, label: int) -> tuple[tuple[float, int], ...]:
        """((weight, label), …) of all losses on x_k, where z_k carries `label`."""
        own = ((self.own, label),) if self.own else ()
        return (*own, *self.further)
