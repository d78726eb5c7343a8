"""Scores from elsewhere: what they claim to answer, which way round they stand, and what their sign means.

A claim is a scoring whose scores were not computed here. It says which specification they are meant for, so that
verdicts, comparisons and explanations hold for them as for every other approximate answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pydantic import field_validator, model_validator

from engine.basics.errors import InvalidInput
from engine.brought.files import Table
from engine.estimators import Estimator
from engine.metrics.agreement import Agreement, pairwise, summarize
from engine.metrics.intervals import t_interval
from engine.metrics.subsets import over_known
from engine.problems import Problem
from engine.question.specification import Specification
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring

ESTIMATOR = "brought"
LEAST = 0.1
"""Kendall τ below which a reading is not told by the data: approximations can be that far off, either way."""
QUERIES, CANDIDATES = "queries", "candidates"
SIGNS = {1: "plus", -1: "minus"}
MEANING = {1: "a larger score means that the example supports the behavior",
           -1: "a larger score means that the example works against the behavior"}
AXES = {QUERIES: "one row a query", CANDIDATES: "one row a training example"}


class Claim(Scoring):
    """A specification that scores from elsewhere claim, as plain data with their name.

    estimator: `brought:` and the fingerprint of the scores, so that two arrays are never taken for one.
    """

    estimator: str = ESTIMATOR
    name: str

    @model_validator(mode="after")
    def _targets(self) -> Claim:
        return self

    @field_validator("name")
    @classmethod
    def _a_line(cls, name: str) -> str:
        if not name.strip() or not name.isprintable() or len(name) > 100:
            raise InvalidInput("The name of the scores is not a line of 1 to 100 letters; give them one.")
        return name.strip()

    @classmethod
    def to(cls, specification: Specification, name: str, content: str = "") -> Claim:
        return cls.parse({"behavior": specification.behavior, "intervention": specification.intervention,
                          "process": specification.process, "name": name, "estimator": f"{ESTIMATOR}:{content}"})

    @property
    def route(self) -> Estimator:
        return Estimator(ESTIMATOR, self.name, False, "Scores that were computed elsewhere.")

    @property
    def reference(self) -> Scoring:
        """The exact answer to what is claimed."""
        return Scoring(behavior=self.behavior, intervention=self.intervention, process=self.process)


@dataclass(frozen=True)
class Reading:
    """One way to read a table. agreement: mean Kendall τ with the reference over queries; ci95 over queries."""

    axes: str
    sign: int
    agreement: float
    ci95: float


@dataclass(frozen=True)
class Preview:
    """The ways a table can be read, likeliest first.

    certain: whether the data leave no doubt. reasons: sentences for the reader, the last two on
    axes and sign.
    """

    readings: tuple[Reading, ...]
    certain: bool
    reasons: tuple[str, ...]

    @property
    def likely(self) -> Reading:
        return self.readings[0]


def axes_that_fit(problem: Problem, table: Table) -> list[str]:
    """`queries` and `candidates`, of which the shape allows one, both or none: which of them its rows may be."""
    r, c = table.values.shape
    m, sizes = len(problem.queries), {len(problem.candidates), problem.n}
    return [axes for axes, fits in ((QUERIES, r == m and c in sizes), (CANDIDATES, c == m and r in sizes)) if fits]


def check(problem: Problem, table: Table) -> None:
    """Raises `InvalidInput` for a table that is none of this problem, or that lacks candidates of it."""
    fits = axes_that_fit(problem, table)
    if not fits:
        raise InvalidInput(_misfit(problem, table))
    for axes in fits:
        arranged(problem, table, axes)


def preview(problem: Problem, table: Table, reference: np.ndarray) -> Preview:
    """How the table is likely to be read.

    reference (m, k): oriented scores that answer the claimed question well, by which sign and an ambiguous shape are
    told: the likely reading is the one that agrees with it most. Raises `InvalidInput` where no reading fits.
    """
    check(problem, table)
    fits, found = axes_that_fit(problem, table), []
    for axes in fits:
        values = arranged(problem, table, axes)
        usable = np.isfinite(values).all(0)
        tau = (pairwise([values[:, usable], reference[:, usable]], ("kendall",))["kendall"][0, 1]
               if usable.any() else np.array([np.nan]))
        mean, half = t_interval(tau)
        found += [Reading(axes, sign, sign * mean, half) for sign in (1, -1)]
    found.sort(key=lambda reading: -reading.agreement if reading.agreement == reading.agreement else 0.0)
    best = found[0]
    told = best.agreement > max(LEAST, best.ci95 if best.ci95 == best.ci95 else 1.0)  # False for NaN too
    remarks = [table.first_row.remark] if table.first_row.remark else []
    r, c = table.values.shape
    shape = f"The table is {r:,} × {c:,}, for {len(problem.queries):,} queries and {len(problem.candidates):,} " \
            f"candidates of {problem.n:,} training examples"
    axes_reason = (f"{shape}: {AXES[best.axes]}." if len(fits) == 1 else
                   f"{shape}, which fits both ways; {AXES[best.axes]} agrees better with the reference.")
    tau_text = f"τ = {best.agreement:+.2f}".replace("-", "−")
    sign_reason = (f"With the sign read as {SIGNS[best.sign]} ({MEANING[best.sign]}), they agree with the exact answer "
                   f"to the claimed question by {tau_text}; with the other sign by the negative of it." if told else
                   f"The scores do not agree with the exact answer under either sign ({tau_text}), so the sign cannot "
                   "be told from the data; say which one it is.")
    return Preview(tuple(found), told, (*remarks, axes_reason, sign_reason))


def arranged(problem: Problem, table: Table, axes: str) -> np.ndarray:
    """The table as (queries, candidates) of the problem: turned, and the candidates picked or put in order."""
    if axes not in axes_that_fit(problem, table):
        raise InvalidInput(_misfit(problem, table))
    values = table.values if axes == QUERIES else table.values.T
    candidates = problem.candidates.cpu().numpy()
    if table.candidates is not None and len(table.candidates) == values.shape[1]:
        place = {int(row): at for at, row in enumerate(table.candidates)}
        absent = [int(row) for row in candidates if int(row) not in place]
        if absent:
            raise InvalidInput(f"The file has no scores of training example {absent[0]}, which is a candidate; give "
                               "all candidates of the problem.")
        return values[:, [place[int(row)] for row in candidates]]
    if values.shape[1] == len(candidates):
        return values
    return values[:, candidates]


def bring(problem: Problem, table: Table, specification: Specification, name: str, axes: str, sign: int) -> Scores:
    """The table as `Scores` of the problem. sign: +1 where a larger score supports the behavior, else −1.

    Raises `InvalidInput` for a sign that is neither, a shape that does not fit, or no finite column. Columns with a
    value that is not finite are flagged as not converged.
    """
    if sign not in SIGNS:
        raise InvalidInput(f"The sign is {sign}; give 1 where a larger score supports the behavior, or −1.")
    oriented = sign * arranged(problem, table, axes)
    usable = np.isfinite(oriented).all(0)
    if not usable.any():
        raise InvalidInput("Every training example has a score that is not finite; mend the scores before bringing "
                           "them.")
    content = hashlib.sha256(np.ascontiguousarray(oriented).tobytes()).hexdigest()[:16]
    claim = Claim.to(specification, name, content)
    values = np.where(usable, claim.orientation * oriented, 0.0)
    provenance: dict[str, Any] = {
        "spec": claim.canonical(), "digest": claim.digest, "question": claim.question,
        "orientation": claim.orientation, "exact": False, "data": problem.fingerprint,
        "sizes": {"train": problem.n, "queries": len(problem.queries), "candidates": len(problem.candidates),
                  **problem.sizes},
        "brought": {"axes": axes, "sign": SIGNS[sign], "array": table.name, "shape": list(table.values.shape)},
        "convergence": {"converged": int(usable.sum()), "of": len(usable), "largest_residual": 0.0},
        "device": "brought", "wall_seconds": 0.0,
    }
    return Scores(claim, values, problem.candidates.cpu().numpy(), usable, np.zeros(len(usable)), provenance)


def agreement_with(reference: Scores, brought: Scores, metrics: Iterable[str]) -> dict[str, Agreement]:
    """metric -> agreement of brought scores with the exact ones over the candidates that both have."""
    both = Together.of([reference, brought])
    found = over_known(partial(pairwise, metrics=tuple(metrics)), both.stack, both.known)
    return {name: summarize(values[0, 1], interval_over="queries") for name, values in found.items()}


def _misfit(problem: Problem, table: Table) -> str:
    r, c = table.values.shape
    m, k, n = len(problem.queries), len(problem.candidates), problem.n
    whole = f", or all {n:,} training examples" if n != k else ""
    return (f"The table is {r:,} × {c:,}, but the problem has {m:,} queries and {k:,} candidates{whole}; bring scores "
            "of this problem, or choose the problem that they were computed on.")
