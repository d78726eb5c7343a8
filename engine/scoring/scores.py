"""Scores: an array (queries, candidates) with what it is, how far to trust it, and where it came from."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from engine.gradients.response import RESOLUTION
from engine.metrics.agreement import of_signs
from engine.metrics.positions import has_position, has_sign
from engine.metrics.subsets import Compare, over_known
from engine.scoring.convergence import Convergence
from engine.scoring.scoring import Scoring


@dataclass(frozen=True, eq=False)
class Scores:
    """Raw scores in the sense of the estimand: B(θ_k^cf) − B(θ_D), or dB/dα for `infinitesimal`.

    values (m, k) float64; candidates (k,) indices into the training set, or from n on outside of it; converged (k,)
    bool: of an exact answer, whether it met its tolerance; of an approximation, whether its solver met the tolerance
    that it has, or, where it has none, whether the solution is finite, which says nothing of how good it is (see
    `convergence`).
    residual (k,): final gradient norm of a re-optimisation, or relative residual of a linear solve.
    error (m, k): a bound on how far rounding moved each score, NaN where none is stated; None: of none is.
    resolved (m, k) bool, None for all: the flag alone, of scores that were kept before their bounds were.
    standard_error (m, k) of a mean over several seeds; None where there is one run, or none.

    A score below resolution, error > 1e-6·|score|, is flagged and takes part. What a comparison leaves out is a
    candidate that did not converge, a score that is not finite, and one whose error bound exceeds its distance from
    what it is compared with: `signed` from 0, `ranked` from the other candidates (`engine.metrics.positions`).
    """

    scoring: Scoring
    values: np.ndarray
    candidates: np.ndarray
    converged: np.ndarray
    residual: np.ndarray
    provenance: dict[str, Any] = field(default_factory=dict)
    resolved: np.ndarray | None = None
    standard_error: np.ndarray | None = None
    error: np.ndarray | None = None

    def npz(self) -> bytes:
        """The content of scores.npz; its manifest is the provenance."""
        more: dict[str, Any] = {"standard_error": self.standard_error, "error": self.error}
        more = {name: array for name, array in more.items() if array is not None}
        buffer = io.BytesIO()
        np.savez(buffer, scores=np.asarray(self.values, dtype=np.float64), candidates=self.candidates,
                 converged=self.converged, residual=self.residual, resolved=self.above_resolution, **more)
        return buffer.getvalue()

    @property
    def oriented(self) -> np.ndarray:
        """orientation × values: positive where the example supports the behavior, whatever P."""
        return self.scoring.orientation * self.values

    @property
    def bound(self) -> np.ndarray:
        """The error bounds (m, k), NaN where none is stated."""
        return np.full(self.values.shape, np.nan) if self.error is None else self.error

    @property
    def usable(self) -> np.ndarray:
        """Which scores are finite, of candidates that converged: (m, k)."""
        return np.isfinite(self.values) & self.converged

    @property
    def known(self) -> np.ndarray:
        """Which usable scores are not flagged as below resolution: (m, k)."""
        return self.above_resolution & self.usable

    @cached_property
    def ranked(self) -> np.ndarray:
        """Which scores take part where candidates are ranked: (m, k)."""
        return has_position(np.where(self.usable, self.values, np.nan), self.error)

    @cached_property
    def signed(self) -> np.ndarray:
        """Which scores take part where signs are compared: (m, k)."""
        return has_sign(np.where(self.usable, self.values, np.nan), self.error)

    @property
    def unranked(self) -> int:
        """How many usable scores have no position among the other candidates."""
        return int((self.usable & ~self.ranked).sum())

    @property
    def unsigned(self) -> int:
        """How many usable scores have an error bound that reaches past 0."""
        return int((self.usable & ~self.signed).sum())

    @property
    def resolution(self) -> dict[str, int]:
        """For a manifest: how many scores are flagged, of how many, and for how many no error bound is stated."""
        unbounded = self.values.size if self.error is None else int(np.isnan(self.error).sum())
        return {"below": self.below_resolution, "of": self.values.size, "no_error_bound": unbounded}

    @property
    def noise(self) -> float | None:
        """How much of what separates training examples the seeds have not settled: of each query the root mean square
        of the standard errors over the standard deviation of its scores, the middle one of all queries. Near 1 the
        ranking is chance. None where no mean over seeds was taken."""
        if self.standard_error is None:
            return None
        converged = self.converged
        apart = self.values[:, converged].std(1)
        unsettled = np.sqrt(np.square(self.standard_error[:, converged]).mean(1))
        return float(np.median(unsettled[apart > 0] / apart[apart > 0])) if (apart > 0).any() else None

    @property
    def above_resolution(self) -> np.ndarray:
        """Which scores are not flagged: rounding left six digits of them, or no bound is stated: (m, k)."""
        if self.error is None:
            return np.ones(self.values.shape, bool) if self.resolved is None else self.resolved
        with np.errstate(invalid="ignore"):
            return ~(self.error > RESOLUTION * np.abs(self.values))

    @property
    def below_resolution(self) -> int:
        """How many scores are flagged."""
        return int((~self.above_resolution).sum())

    @property
    def scored(self) -> np.ndarray:
        """Oriented scores with NaN for those that are not usable: for sums and means, which leave out nothing else."""
        return np.where(self.usable, self.oriented, np.nan)

    @property
    def trusted(self) -> np.ndarray:
        """Oriented scores as they are ranked, with NaN for those that take no part in it."""
        return np.where(self.ranked, self.oriented, np.nan)

    @property
    def convergence(self) -> Convergence:
        """How well they were computed; what the manifest does not tell of the solver is unknown."""
        return Convergence.measured(self.scoring.exact, self.converged, self.residual,
                                    Convergence.facts_of(self.provenance.get("convergence", {})))


@dataclass(frozen=True, eq=False)
class Together:
    """Score arrays over the candidates that converged in all of them.

    stack (M, m, k'): oriented scores. known, signs (m, k'): which of them are ranked, and have a sign, in all arrays.
    converged (k,): which candidates converged in all arrays. below_resolution: how many scores are flagged in some
    array. sizes (M,): which arrays have no sign, and say how much an example matters.
    """

    stack: np.ndarray
    known: np.ndarray
    signs: np.ndarray
    converged: np.ndarray
    below_resolution: int
    sizes: np.ndarray

    @classmethod
    def of(cls, arrays: Sequence[Scores]) -> Together:
        there = np.logical_and.reduce([scores.converged for scores in arrays])
        known, signs, sharp = (np.logical_and.reduce(masks)[:, there] for masks in zip(*(
            (scores.ranked, scores.signed, scores.above_resolution) for scores in arrays), strict=True))
        return cls(np.stack([scores.oriented[:, there] for scores in arrays]), known, signs, there, int((~sharp).sum()),
                   np.array([scores.scoring.route.unsigned for scores in arrays]))

    def measured(self, compare: Compare) -> dict[str, np.ndarray]:
        """`over_known` of the arrays; beside one without a sign the sizes of the other's scores count, and no sign is
        compared."""
        values = over_known(compare, self.stack, self.known, self.signs)
        if self.sizes.any():
            pairs = self.sizes[:, None] | self.sizes
            sizes = over_known(compare, np.abs(self.stack), self.known, self.signs)
            for name in values:
                values[name][pairs] = np.nan if of_signs(name) else sizes[name][pairs]
        return values

    @property
    def unranked(self) -> int:
        """How many scores have no position in some array."""
        return int((~self.known).sum())

    @property
    def unsigned(self) -> int:
        """How many scores have no sign in some array."""
        return int((~self.signs).sum())
