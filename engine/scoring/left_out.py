"""Candidates that comparisons leave out, by the reason: only an exact answer can fail to converge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.scoring.scores import Scores


@dataclass(frozen=True)
class LeftOut:
    """reasons: what is said of candidates, such as `did not converge` -> how many; each counts once."""

    reasons: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, arrays: Sequence[Scores]) -> LeftOut:
        """Of score arrays over the same candidates: those that are not `converged` somewhere, exact answers first."""
        counted = np.zeros(len(arrays[0].candidates), bool)
        counts: dict[str, int] = {}
        for scores in sorted(arrays, key=lambda scores: not scores.scoring.exact):
            missed = ~scores.converged & ~counted
            if missed.any():
                reason = scores.convergence.missed
                counts[reason] = counts.get(reason, 0) + int(missed.sum())
            counted |= missed
        return cls(counts)

    @classmethod
    def joined(cls, several: Sequence[LeftOut]) -> LeftOut:
        """One of several seeds."""
        reasons = dict.fromkeys(reason for one in several for reason in one.reasons)
        return cls({reason: sum(one.reasons.get(reason, 0) for one in several) for reason in reasons})

    @property
    def count(self) -> int:
        return sum(self.reasons.values())

    @property
    def because(self) -> str:
        """`because they did not converge`, or with a number for each reason where there are several."""
        if len(self.reasons) == 1:
            return f"because they {next(iter(self.reasons))}"
        return "because " + " and ".join(f"{count:,} {reason}" for reason, count in self.reasons.items())
