"""How a brought table is read: its axes and its sign, told by a reference where the data tell it, and said how well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.external.claim import MEANING, SIGNS
from engine.external.matching import (
    AXES,
    LISTED,
    ORDERS,
    TRAINING,
    readable,
    remarks,
    told_unusable,
    unusable_queries,
)
from engine.external.table import Table
from engine.metrics.agreement import constant, pairwise
from engine.metrics.intervals import t_interval
from engine.problems import Problem
from engine.scoring.scores import Scores

LEAST = 0.1
"""Kendall τ below which a reading is not told by the data: approximations can be that far off, either way."""


@dataclass(frozen=True)
class Reading:
    """One way to read a table. agreement: mean Kendall τ with the reference over queries; ci95 over queries. order:
    of training examples that the table does not name."""

    axes: str
    sign: int
    agreement: float
    ci95: float
    order: str = LISTED


@dataclass(frozen=True)
class Reference:
    """The scores by which a reading is told. exact: whether they are the exact answer to what is claimed; converged:
    of how many candidates, of `of`."""

    title: str
    exact: bool
    converged: int
    of: int

    @classmethod
    def of_scores(cls, scores: Scores) -> Reference:
        return cls(scores.scoring.title, bool(scores.provenance["exact"]), int(scores.converged.sum()),
                   len(scores.converged))

    @property
    def quality(self) -> str:
        """How good it is: its agreement with the exact answer, where that is known."""
        if not self.exact:
            return "an approximation, whose agreement with the exact answer is not known"
        if self.converged == self.of:
            return f"itself the exact answer to the claimed question, converged for all {self.of:,} candidates"
        return (f"itself the exact answer to the claimed question, but converged for {self.converged:,} of {self.of:,} "
                "candidates only, and read for these")


@dataclass(frozen=True)
class Preview:
    """The ways a table can be read, likeliest first.

    certain: whether the data leave no doubt. reasons: sentences for the reader, the last two on axes and sign.
    """

    readings: tuple[Reading, ...]
    certain: bool
    reasons: tuple[str, ...]
    reference: Reference

    @property
    def likely(self) -> Reading:
        return self.readings[0]

    @property
    def axes_certain(self) -> bool:
        """Whether shape or data tell the axes."""
        return self.certain or len({reading.axes for reading in self.readings}) == 1

    def orders(self, axes: str) -> list[str]:
        """The orders in which training examples may stand under these axes, the likeliest first."""
        return list(dict.fromkeys(reading.order for reading in self.readings if reading.axes == axes))

    def told(self, axes: str, order: str, sign: int, automatic: bool) -> dict[str, Any]:
        """How the sign was decided, as plain data: by whom, against which reference, and how good that is."""
        agreement = next((one.agreement for one in self.readings
                          if (one.axes, one.order, one.sign) == (axes, order, sign)), np.nan)
        return {"by": "agreement with the reference" if automatic else "the user",
                "agreement_with_reference": None if np.isnan(agreement) else agreement,
                "reference": self.reference.title, "reference_quality": self.reference.quality}


def preview(problem: Problem, table: Table, reference: Scores) -> Preview:
    """How the table is likely to be read.

    reference: scores that answer the claimed question well, by which sign and an ambiguous shape are told: the likely
    reading is the one that agrees with it most. Raises `InvalidInput` where no reading fits.
    """
    arrays, found = readable(problem, table), []
    for (axes, order), values in arrays.items():
        mean, half = t_interval(_agreement(values, reference))
        found += [Reading(axes, sign, sign * mean, half, order) for sign in (1, -1)]
    found.sort(key=lambda reading: -reading.agreement if reading.agreement == reading.agreement else 0.0)
    best, against = found[0], Reference.of_scores(reference)
    told = best.agreement > max(LEAST, best.ci95 if best.ci95 == best.ci95 else 1.0)  # False for NaN too
    missing = told_unusable(unusable_queries(arrays[best.axes, best.order]).tolist())
    reasons = (*remarks(table), *([missing] if missing else []), _axes_reason(problem, table, found, told),
               _sign_reason(best, told, against))
    return Preview(tuple(found), told, reasons, against)


def _agreement(values: np.ndarray, reference: Scores) -> np.ndarray:
    """Kendall τ of every query that both rank, over the examples that both have; NaN where there is none."""
    values = np.delete(values, left_out := unusable_queries(values), 0)
    against = np.delete(reference.oriented, left_out, 0)
    usable = np.isfinite(values).all(0) & reference.converged
    if not len(values) or not usable.any():
        return np.array([np.nan])
    stack = np.stack([values[:, usable], against[:, usable]])
    tau = pairwise(stack, ("kendall",))["kendall"][0, 1]
    return np.where(constant(stack).any(0), np.nan, tau)


def _axes_reason(problem: Problem, table: Table, found: list[Reading], told: bool) -> str:
    best = found[0]
    r, c = table.values.shape
    shape = f"The table is {r:,} × {c:,}, for {len(problem.queries):,} queries and {len(problem.candidates):,} " \
            f"candidates of {problem.n:,} training examples"
    said = f"{shape}: {AXES[best.axes]}."
    if len({reading.axes for reading in found}) > 1:
        said = (f"{shape}, which fits both ways; {AXES[best.axes]} agrees better with the reference." if told else
                f"{shape}, which fits both ways, and the reference does not tell which it is; say what the rows are.")
    if len({reading.order for reading in found if reading.axes == best.axes}) > 1:
        said += (f" It does not name the training examples: {ORDERS[best.order]} they agree better with the reference."
                 if told else f" It does not name the training examples, which may stand {ORDERS[LISTED]} or "
                              f"{ORDERS[TRAINING]}; the reference does not tell which, so name them, or say it.")
    return said


def _sign_reason(best: Reading, told: bool, against: Reference) -> str:
    tau = f"τ = {best.agreement:+.2f}".replace("-", "−")
    of_it = f"The reference is {against.title}: {against.quality}."
    if told:
        return (f"With the sign read as {SIGNS[best.sign]} ({MEANING[best.sign]}), they agree with the reference by "
                f"{tau}; with the other sign by the negative of it. {of_it}")
    return (f"The reference does not tell the sign ({tau}, below {LEAST:g} or within its 95% interval of 0). Either "
            "the scores are far from it, or rows and columns are not matched: check first that queries and training "
            "examples are those of this problem, in its order; only then say which one the sign is. "
            f"{of_it}")
