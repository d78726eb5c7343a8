"""What rounding left of scores, in words: how many are flagged and take part, and how many are really left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.gradients.response import RESOLUTION
from engine.scoring.scores import Scores

LIMIT = f"{RESOLUTION:.0e}"


@dataclass(frozen=True)
class Resolution:
    """Counts over score arrays: of all scores, those flagged as below resolution, those of candidates that converged
    without a position or a sign (`engine.metrics.positions`), and those for which no error bound is stated."""

    of: int
    flagged: int
    unranked: int
    unsigned: int
    unbounded: int

    @classmethod
    def joined(cls, arrays: Sequence[Scores]) -> Resolution:
        """Of several arrays together: seeds of one scoring, or one array."""
        counts = [scores.resolution for scores in arrays]
        of, flagged, unbounded = (sum(one[name] for one in counts) for name in ("of", "below", "no_error_bound"))
        return cls(of, flagged, sum(scores.unranked for scores in arrays), sum(scores.unsigned for scores in arrays),
                   unbounded)

    @property
    def clauses(self) -> tuple[str, ...]:
        """What there is to say, a clause each; nothing where every score is known to have six digits."""
        if not self.unbounded:
            return self.warnings
        some = "" if self.unbounded == self.of else f" for {self.unbounded:,} of {self.of:,} scores"
        return (f"no error bound{some}", *self.warnings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The same of what is flagged and left out alone."""
        texts = []
        if self.flagged:
            texts.append(f"{self.flagged:,} scores ({self.flagged / self.of:.1%}) have an error bound above {LIMIT} of "
                         "their value: flagged as below resolution, they stay in the ranking")
        if self.unranked or self.unsigned:
            texts.append(left_out(self.unranked, self.unsigned))
        return tuple(texts)


def left_out(unranked: int, unsigned: int) -> str:
    """Who does not take part, and why."""
    clauses = [f"{count:,} out of {where}, where the error bound exceeds {than}" for count, where, than in (
        (unranked, "rankings", "the distance to half of the other candidates"),
        (unsigned, "signs", "the score")) if count]
    return f"left out: {' and '.join(clauses)}"
