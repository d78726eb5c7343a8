"""How an external table is read: its axes and its sign, decided by a reference where the data allow it."""

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
    unusable_queries,
    unusable_sentence,
)
from engine.external.table import Table
from engine.metrics.agreement import constant, pairwise
from engine.metrics.intervals import t_interval
from engine.problems import Problem
from engine.scoring.scores import Scores

LEAST = 0.1
"""Kendall τ below which the data do not decide an interpretation: approximations can be that far off, either way."""


@dataclass(frozen=True)
class Interpretation:
    """One way to read a table. agreement: mean Kendall τ with the reference over queries; ci95 over queries. order:
    of training examples that the table does not name."""

    axes: str
    sign: int
    agreement: float
    ci95: float
    order: str = LISTED


@dataclass(frozen=True)
class Reference:
    """The scores by which an interpretation is decided. exact: whether they are the exact answer to what
    is claimed; converged: of how many candidates, of `of`."""

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

    interpretations: tuple[Interpretation, ...]
    certain: bool
    reasons: tuple[str, ...]
    reference: Reference

    @property
    def likely(self) -> Interpretation:
        return self.interpretations[0]

    @property
    def axes_certain(self) -> bool:
        """Whether shape or data tell the axes."""
        return self.certain or len({one.axes for one in self.interpretations}) == 1

    def orders(self, axes: str) -> list[str]:
        """The orders in which training examples may stand under these axes, the likeliest first."""
        return list(dict.fromkeys(one.order for one in self.interpretations if one.axes == axes))

    def decision(self, axes: str, order: str, sign: int, automatic: bool) -> dict[str, Any]:
        """How the sign was decided, as plain data: by whom, against which reference, and how good that is."""
        agreement = next((one.agreement for one in self.interpretations
                          if (one.axes, one.order, one.sign) == (axes, order, sign)), np.nan)
        return {"by": "agreement with the reference" if automatic else "the user",
                "agreement_with_reference": None if np.isnan(agreement) else agreement,
                "reference": self.reference.title, "reference_quality": self.reference.quality}


def preview(problem: Problem, table: Table, reference: Scores) -> Preview:
    """How the table is likely to be read.

    reference: scores that answer the claimed question well, which decide the sign and an ambiguous shape: the likely
    reading is the one that agrees with it most. Raises `InvalidInput` where no reading fits.
    """
    arrays, interpretations = readable(problem, table), []
    for (axes, order), values in arrays.items():
        mean, half = t_interval(_agreement(values, reference))
        interpretations += [Interpretation(axes, sign, sign * mean, half, order) for sign in (1, -1)]
    interpretations.sort(key=lambda one: -one.agreement if one.agreement == one.agreement else 0.0)
    best, against = interpretations[0], Reference.of_scores(reference)
    clear = best.agreement > max(LEAST, best.ci95 if best.ci95 == best.ci95 else 1.0)  # False for NaN too
    missing = unusable_sentence(unusable_queries(arrays[best.axes, best.order]).tolist())
    reasons = (*remarks(table), *([missing] if missing else []), _axes_reason(problem, table, interpretations, clear),
               _sign_reason(best, clear, against))
    return Preview(tuple(interpretations), clear, reasons, against)


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


def _axes_reason(problem: Problem, table: Table, interpretations: list[Interpretation], clear: bool) -> str:
    best = interpretations[0]
    r, c = table.values.shape
    shape = f"The table is {r:,} × {c:,}, for {len(problem.queries):,} queries and {len(problem.candidates):,} " \
            f"candidates of {problem.n:,} training examples"
    said = f"{shape}: {AXES[best.axes]}."
    if len({one.axes for one in interpretations}) > 1:
        said = (f"{shape}, which fits both ways; {AXES[best.axes]} agrees better with the reference." if clear else
                f"{shape}, which fits both ways, and the reference does not tell which it is; say what the rows are.")
    if len({one.order for one in interpretations if one.axes == best.axes}) > 1:
        said += (f" It does not name the training examples: {ORDERS[best.order]} they agree better with the reference."
                 if clear else f" It does not name the training examples, which may stand {ORDERS[LISTED]} or "
                              f"{ORDERS[TRAINING]}; the reference does not tell which, so name them, or say it.")
    return said


def _sign_reason(best: Interpretation, clear: bool, against: Reference) -> str:
    tau = f"τ = {best.agreement:+.2f}".replace("-", "−")
    of_it = f"The reference is {against.title}: {against.quality}."
    if clear:
        return (f"With the sign read as {SIGNS[best.sign]} ({MEANING[best.sign]}), they agree with the reference by "
                f"{tau}; with the other sign by the negative of it. {of_it}")
    return (f"The reference does not tell the sign ({tau}, below {LEAST:g} or within its 95% interval of 0). Either "
            "the scores are far from it, or rows and columns are not matched: check first that queries and training "
            "examples are those of this problem, in its order; only then say which one the sign is. "
            f"{of_it}")
