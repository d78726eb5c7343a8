"""What estimators read: projected gradients at every checkpoint, gradient lengths, and representations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Point:
    """One checkpoint. weight: its learning rates. gradients, conditioned (n, k): ∇ℓ(z_k) as it is and as Adam's
    update. queries: behavior -> ∇B(q), (m, k)."""

    weight: float
    gradients: np.ndarray
    conditioned: np.ndarray
    queries: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Features:
    """points: in the order of the training, the last one is the model that is asked. norms, losses (n,) at the end.

    hidden, query_hidden: layer -> representation of the prompt at the end of it, (n, d) and (m, d), with layers as
    shares of the depth; layer: which of them RepSim reads. seed: for what is drawn. ridge: of TRAK's regression, as a
    share of its features' mean square. again: the points under another draw of the projection, empty where gradients
    are kept whole.
    """

    points: tuple[Point, ...]
    norms: np.ndarray
    losses: np.ndarray
    hidden: Mapping[float, np.ndarray]
    query_hidden: Mapping[float, np.ndarray]
    layer: float = 1.0
    seed: int = 0
    ridge: float = 1e-2
    again: tuple[Point, ...] = ()

    @property
    def last(self) -> Point:
        return self.points[-1]

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, records)."""
        return len(self.query_hidden[self.layer]), len(self.norms)

    @property
    def redrawn(self) -> Features | None:
        """The same under the other draw of the projection; None where gradients are kept whole."""
        return replace(self, points=self.again, again=()) if self.again else None

    @property
    def behaviors(self) -> tuple[str, ...]:
        return tuple(self.last.queries)
