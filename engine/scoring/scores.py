"""Scores: an array (queries, candidates) with what it is, how far to trust it, and where it came from."""

from __future__ import annotations

from collections.abc import Sequence
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
    resolved (m, k) bool, None for all: whether rounding left six digits of a score (`engine.exact.response`).
    standard_error (m, k) of a mean over several seeds; None where there is one run, or none.
    A column that did not converge and a score below resolution are kept and flagged, and left out by `trusted`.
    """

    scoring: Scoring
    values: np.ndarray
    candidates: np.ndarray
    converged: np.ndarray
    residual: np.ndarray
    provenance: dict[str, Any] = field(default_factory=dict)
    resolved: np.ndarray | None = None
    standard_error: np.ndarray | None = None

    @property
    def oriented(self) -> np.ndarray:
        """orientation × values: positive where the example supports the behavior, whatever P."""
        return self.scoring.orientation * self.values

    @property
    def known(self) -> np.ndarray:
        """Which scores are above resolution, of candidates that converged: (m, k)."""
        return self.above_resolution & self.converged

    @property
    def noise(self) -> float | None:
        """How much of what separates training examples the seeds have not settled: of each query the root mean square
        of the standard errors over the standard deviation of its scores, the middle one of all queries. Near 1 the
        ranking is chance. None where no mean over seeds was taken."""
        if self.standard_error is None:
            return None
        kept = self.converged
        apart = self.values[:, kept].std(1)
        unsettled = np.sqrt(np.square(self.standard_error[:, kept]).mean(1))
        return float(np.median(unsettled[apart > 0] / apart[apart > 0])) if (apart > 0).any() else None

    @property
    def above_resolution(self) -> np.ndarray:
        """Which scores rounding left six digits of: (m, k)."""
        return np.ones(self.values.shape, bool) if self.resolved is None else self.resolved

    @property
    def below_resolution(self) -> int:
        """How many scores rounding may have spoilt."""
        return int((~self.above_resolution).sum())

    @property
    def sharp(self) -> np.ndarray:
        """Oriented scores with NaN where they are below resolution."""
        return np.where(self.above_resolution, self.oriented, np.nan)

    @property
    def trusted(self) -> np.ndarray:
        """Oriented scores with NaN where the candidate did not converge or the score is below resolution."""
        return np.where(self.known, self.oriented, np.nan)

    @property
    def convergence(self) -> Convergence:
        """How well they were computed; what the manifest does not tell of the solver is unknown."""
        return Convergence.measured(self.scoring.exact, self.converged, self.residual,
                                    Convergence.facts_of(self.provenance.get("convergence", {})))


@dataclass(frozen=True, eq=False)
class Together:
    """Score arrays over the candidates that converged in all of them.

    stack (M, m, k'): oriented scores. known (m, k'): which of them are above resolution in all arrays. kept (k,): the
    candidates.
    """

    stack: np.ndarray
    known: np.ndarray
    kept: np.ndarray

    @classmethod
    def of(cls, arrays: Sequence[Scores]) -> Together:
        kept = np.logical_and.reduce([scores.converged for scores in arrays])
        known = np.logical_and.reduce([scores.known for scores in arrays])
        return cls(np.stack([scores.oriented[:, kept] for scores in arrays]), known[:, kept], kept)

    @property
    def below_resolution(self) -> int:
        """How many scores of the candidates that converged are below resolution somewhere."""
        return int((~self.known).sum())
