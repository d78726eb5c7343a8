"""How an external table is read: its axes and its sign, decided by a reference where the data allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from engine.basics.errors import WhichfluenceError
from engine.basics.values import signed
from engine.estimators import ESTIMATORS
from engine.estimators.external import SIGNS, unusable_queries
from engine.external.importing import MEANING
from engine.external.matching import AXES, LISTED, ORDERS, TRAINING, readable, remarks, unusable_sentence
from engine.external.table import Table
from engine.metrics.agreement import constant, pairwise
from engine.metrics.intervals import t_interval
from engine.problems import Problem
from engine.question.specification import Specification
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

LEAST = 0.1
"""Kendall τ below which the data do not decide an interpretation: approximations can be that far off, either way."""
REFERENCES = ("exact", "cg_gauss_newton", "cg", "ekfac", "first_order")
"""The estimators that a sign may be decided by, the better before the worse."""
NAN = float("nan")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Interpretation:
    """One way to read a table. sign: one of `SIGNS`. agreement: mean Kendall τ with the reference over queries, NaN
    without one; ci95 over queries. order: of training examples that the table does not name."""

    axes: str
    sign: str
    agreement: float = NAN
    ci95: float = NAN
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
            return "an approximation, whose agreement with the exact answer is unknown"
        if self.converged == self.of:
            return f"itself the exact answer to the claimed question, converged for all {self.of:,} candidates"
        return (f"itself the exact answer to the claimed question, but converged for {self.converged:,} of {self.of:,} "
                "candidates only, and compared on these")


@dataclass(frozen=True)
class TablePreview:
    """The ways a table can be read, likeliest first.

    certain: whether the data leave no doubt. reasons: sentences for the reader, the last two on axes and sign.
    reference: what they were held against; None where nothing could be computed.
    """

    interpretations: tuple[Interpretation, ...]
    certain: bool
    reasons: tuple[str, ...]
    reference: Reference | None

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

    def under(self, axes: str, order: str, sign: str) -> Interpretation:
        """The interpretation with these, without an agreement where the table does not allow it."""
        return next((one for one in self.interpretations if (one.axes, one.order, one.sign) == (axes, order, sign)),
                    Interpretation(axes, sign, order=order))

    def decided(self, interpretation: Interpretation) -> str:
        """`data` where the data say so, else `user`."""
        return "data" if self.certain and interpretation == self.likely else "user"

    def facts(self, interpretation: Interpretation) -> dict[str, Any]:
        """What is stored of how the sign was decided."""
        known = None if np.isnan(interpretation.agreement) else interpretation.agreement
        return {} if self.reference is None else {"sign_decided": {
            "reference": self.reference.title, "reference_quality": self.reference.quality,
            "agreement_with_reference": known}}


@dataclass(frozen=True)
class _Read:
    """A table (m, k) under axes and order, with what a reading of it needs."""

    axes: str
    order: str
    values: np.ndarray

    @property
    def one_signed(self) -> bool:
        finite = self.values[np.isfinite(self.values)]
        return bool((finite >= 0).all() or (finite <= 0).all())


def references(claim: Specification, problem: type[Problem]) -> list[Scoring]:
    """The scorings that a sign may be decided by on problems of a class, the better before the worse: the exact answer
    to the claim, then approximations of it."""
    offered = (ESTIMATORS[name] for name in REFERENCES)
    fields = claim.behavior, claim.intervention, claim.process
    return [Scoring.of(*fields, estimator.name) for estimator in offered
            if estimator.refusal(claim, problem.kind) is None and estimator.offered(problem, claim.process.kind)]


def answered(claim: Specification, problem: type[Problem], answer: Callable[[Scoring], Answer | None]
             ) -> tuple[Answer | None, Scoring | None, str]:
    """(what `answer` gives for the best of the `references` that it answers, that scoring, why better ones could not be
    computed). answer: None where it is left out; what it raises is the reason, and the next one is tried."""
    trouble = ""
    for scoring in references(claim, problem):
        try:
            if (answered := answer(scoring)) is not None:
                return answered, scoring, trouble
        except WhichfluenceError as error:
            trouble = trouble or str(error)
    return None, None, trouble


def instead(reference: Scoring | None, trouble: str = "") -> str:
    """Why a table is not held against the exact answer to its claim, as a sentence; empty where it is. trouble: why the
    better ones could not be computed."""
    if reference is not None and reference.exact:
        return ""
    because = f" ({trouble.rstrip('.')})" if trouble else ""
    if reference is None:
        return (f"No method computes the claimed question on this model{because}, so there is no reference; the scores "
                "are shown unchanged.")
    return (f"The exact answer to the claimed question is not computed on this model{because}; {reference.route.title} "
            "of the same question is used instead.")


def preview(problem: Problem, table: Table, reference: Scores | None) -> TablePreview:
    """How the table is likely to be read.

    reference: scores that answer the claimed question well for some of the candidates, which decide the sign and an
    ambiguous shape: the likely reading is the one that agrees with it most. None: nothing is decided but what the shape
    tells. Raises `InvalidInput` where no reading fits.
    """
    reads = [_Read(axes, order, values) for (axes, order), values in readable(problem, table).items()]
    rows = {int(row): column for column, row in enumerate(problem.candidates)}
    columns = [] if reference is None else [rows[int(row)] for row in reference.candidates]
    interpretations = [one for read in reads for one in _interpretations(read, reference, columns)]
    interpretations.sort(key=lambda one: -one.agreement if one.agreement == one.agreement else 0.0)
    best = interpretations[0]
    against = None if reference is None else Reference.of_scores(reference)
    clear = _clear(best, interpretations)
    values = next(read.values for read in reads if (read.axes, read.order) == (best.axes, best.order))
    missing = unusable_sentence(unusable_queries(values).tolist())
    reasons = (*remarks(table), *([missing] if missing else []), _axes_reason(problem, table, interpretations, clear),
               _sign_reason(best, clear, against))
    return TablePreview(tuple(interpretations), clear, reasons, against)


def _interpretations(read: _Read, reference: Scores | None, columns: Sequence[int]) -> Iterator[Interpretation]:
    """With either sign and, of a table of one sign alone, without any. columns: the reference's candidates."""
    values = read.values[:, columns]
    mean, half = (NAN, NAN) if reference is None else t_interval(_agreement(values, reference))
    for sign, factor in SIGNS.items():
        if factor:
            yield Interpretation(read.axes, sign, factor * mean, half, read.order)
        elif read.one_signed:
            sizes = (NAN, NAN) if reference is None else t_interval(_agreement(np.abs(values), reference, sizes=True))
            yield Interpretation(read.axes, sign, *sizes, read.order)


def _clear(best: Interpretation, others: list[Interpretation]) -> bool:
    """Whether the likeliest reading is beyond doubt; False where nothing was measured."""
    rivals = [one.agreement for one in others
              if (one.axes, one.order) == (best.axes, best.order) and one.sign != best.sign]
    apart = all(best.agreement - rival > LEAST for rival in rivals)
    return best.agreement > max(LEAST, best.ci95 if best.ci95 == best.ci95 else 1.0) and apart


def _agreement(values: np.ndarray, reference: Scores, sizes: bool = False) -> np.ndarray:
    """Kendall τ of every query that both rank, over the examples that both have; NaN where there is none. sizes: with
    the sizes of the reference's scores."""
    values = np.delete(values, left_out := unusable_queries(values), 0)
    against = np.delete(np.abs(reference.oriented) if sizes else reference.oriented, left_out, 0)
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
        said = (f"{shape}, which fits both orientations; {AXES[best.axes]} agrees better with the reference."
                if clear else
                f"{shape}, which fits both orientations, and the reference does not determine it; state whether the "
                "rows are queries or training examples.")
    if len({one.order for one in interpretations if one.axes == best.axes}) > 1:
        said += (f" It does not name the training examples: {ORDERS[best.order]} they agree better with the reference."
                 if clear else f" It does not name the training examples, which may be {ORDERS[LISTED]} or "
                               f"{ORDERS[TRAINING]}; the reference does not determine it, so name them, or state the "
                               "order.")
    return said


def _sign_reason(best: Interpretation, clear: bool, against: Reference | None) -> str:
    if against is None:
        return ("There is no reference to determine the sign; set it, as in the program's documentation.")
    tau = f"τ = {signed(best.agreement, 2, '+')}"
    of_it = f"The reference is {against.title}: {against.quality}."
    if clear and best.sign == "unsigned":
        return (f"All scores have one sign, and their absolute values rank like those of the reference ({tau}): they "
                "are read "
                f"as {best.sign} ({MEANING[best.sign]}). {of_it}")
    if clear:
        return (f"With the sign read as {best.sign} ({MEANING[best.sign]}), their agreement with the reference is "
                f"{tau}; with the other sign it is the negative. {of_it}")
    return (f"The reference does not determine the sign ({tau}, below {LEAST:g}, within its 95% interval of 0, or no "
            "more than for another reading). Either the scores differ much from it, or rows and columns are not "
            "matched: before you set the sign, check that queries and training examples are those of this problem, in "
            f"its order. {of_it}")
