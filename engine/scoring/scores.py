"""Scores: an array (queries, candidates) with what it is, how far to trust it, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.scoring.convergence import Convergence
from engine.scoring.scoring import Scoring


@dataclass(frozen=True, eq=False)
class Scores:
    """Raw scores in the sense of the estimand: B(θ_k^cf) − B(θ_D), or dB/dα for `infinitesimal`.

    values (m, k) float64; candidates (k,) indices into the training set; converged (k,) bool: of an exact answer,
    whether it met its tolerance; of an approximation, whether its solver met the tolerance that it has, or, where it
    has none, whether the solution is finite, which says nothing of how good it is (see `convergence`).
    residual (k,): final gradient norm of a re-optimisation, or relative residual of a linear solve.
    A column that did not converge is kept and flagged, and left out by `trusted`.
    """

    scoring: Scoring
    values: np.ndarray
    candidates: np.ndarray
    converged: np.ndarray
    residual: np.ndarray
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def oriented(self) -> np.ndarray:
        """orientation × values: positive where the example supports the behavior, whatever P."""
        return self.scoring.orientation * self.values

    @property
    def trusted(self) -> np.ndarray:
        """Oriented scores with NaN in the columns of candidates that did not converge."""
        return np.where(self.converged, self.oriented, np.nan)

    @property
    def convergence(self) -> Convergence:
        """How well they were computed; what the manifest does not tell of the solver is unknown."""
        return Convergence.measured(self.scoring.exact, self.converged, self.residual,
                                    Convergence.facts_of(self.provenance.get("convergence", {})))
