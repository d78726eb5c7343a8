"""How a review goes: errors found an hour, how many are likely left among what is flagged, and whether to go on.

Of the last k = 20 decided examples, w are wrong: the rate w/k with its 95% Wilson interval. Suspects are decided from
the most suspicious down, so that the rate of those left is at most about this one: rate · left is what to expect at
most, and the interval times what is left bounds it. Unsure ones count as not wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.applications.decisions import WRONG, Decision

LAST = 20
BREAK = 120.0
"""Seconds between two decisions beyond which somebody did something else in between."""


@dataclass(frozen=True)
class Pace:
    """found: wrong labels among the decided, in `seconds` of work. wrong, of: those of the last decided, and the
    interval of that rate. left: flagged and not decided. each: median seconds a decision takes, NaN where none follows
    another."""

    decided: int
    found: int
    seconds: float
    wrong: int
    of: int
    interval: tuple[float, float]
    left: int
    each: float

    @property
    def expected(self) -> float:
        """Wrong labels among those left, at the rate of the last ones."""
        return self.left * self.wrong / self.of


def pace(decisions: Mapping[int, Decision], flagged: Sequence[int]) -> Pace | None:
    """The pace over the flagged rows; None where none of them is decided."""
    from scipy.stats import binomtest

    made = sorted((decisions[row] for row in flagged if row in decisions), key=lambda one: one.at)
    if not made:
        return None
    gaps = np.diff([one.at for one in made])
    worked = gaps[(gaps > 0) & (gaps < BREAK)]
    last = [one.verdict == WRONG for one in made[-LAST:]]
    low, high = binomtest(sum(last), len(last)).proportion_ci(method="wilson")
    return Pace(decided=len(made), found=sum(one.verdict == WRONG for one in made), seconds=float(worked.sum()),
                wrong=sum(last), of=len(last), interval=(float(low), float(high)), left=len(flagged) - len(made),
                each=float(np.median(worked)) if len(worked) else float("nan"))
