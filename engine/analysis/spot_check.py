r"""How well an approximation ranks: measured against the exact answer to *the same question*, on a random draw.

Of the problem's candidates and queries a few are drawn with a fixed seed, none of them chosen for its score. The exact
answer is computed there, and the approximation is compared with it:

    τ              Kendall's τ-b of every query, mean over queries, ± 95% t interval over them; and, since other
                   candidates give another τ, ± 1.96 standard errors of the delete-one jackknife over those drawn,

                     se² = (1 − k/K) · (k − 1)/k · Σ_j (τ_(j) − τ̄)²,     τ_(j) without candidate j, k of K drawn

    top overlap    the share of the reference's highest k' candidates that the approximation has among its own highest
                   k', ± 95% over queries; chance reaches k'/k

Where the exact scores of the whole comparison are at hand, these are compared and nothing is drawn. Where a question
has no exact route, or its exact answer costs more than is allowed, the answer is `NotMeasured`, with the reason.
Source: Efron & Stein, "The jackknife estimate of variance", Annals of Statistics 9 (1981).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, nan, sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from engine.analysis.comparison import compare
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Seed, capital
from engine.metrics.agreement import MeanAgreement, pairwise, top_size
from engine.metrics.in_words import Z95, InWords, in_words
from engine.metrics.subsets import over_known
from engine.problems import Problem
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory
from engine.requests import Request
from engine.requests.fields import StoredScoring
from engine.scoring import cost
from engine.scoring.compute import check, compute
from engine.scoring.convergence import Convergence
from engine.scoring.identities import EVERY_PROBLEM
from engine.scoring.reference import SolveEvidence, standing
from engine.scoring.scores import Scores, Together
from engine.scoring.scoring import Scoring
from engine.store.results import Store

CANDIDATES, QUERIES = 50, 50
LEAST_TOP = 5
"""The top of few candidates is no smaller, as far as it is at most half of them."""


@dataclass(frozen=True)
class SpotCheck:
    """scoring against reference, the exact scoring of its question, over `candidates` (those that converged) and
    `queries`, drawn out of so many with `seed`; None where nothing was drawn.

    tau, overlap: with 95% intervals over queries. sampling_ci95: what the draw of candidates adds to that of τ; 0 where
    nothing was drawn. top: how many candidates the overlap is of. convergence: how the reference was computed. bounded:
    whether its own error is.
    """

    scoring: Scoring
    reference: Scoring
    tau: MeanAgreement
    overlap: MeanAgreement
    sampling_ci95: float
    top: int
    candidates: int
    of_candidates: int
    queries: int
    of_queries: int
    seed: int | None
    convergence: Convergence
    bounded: bool

    @property
    def chance(self) -> float:
        """The overlap of rankings in random order, on average."""
        return self.top / self.candidates

    @property
    def ci95(self) -> float:
        """Of τ, over queries and the draw of candidates."""
        return hypot(self.tau.ci95, self.sampling_ci95)

    @property
    def words(self) -> InWords:
        return in_words(replace(self.tau, ci95=self.ci95), self.overlap, self.candidates, self.top / self.candidates)

    @property
    def basis(self) -> str:
        """What was compared, and what the intervals run over."""
        if self.seed is None:
            count = f"{self.candidates:,} of {self.of_candidates:,}"
            count = f"All {self.candidates:,}" if self.candidates == self.of_candidates else count
            return (f"{count} candidates and {self.queries:,} queries of the comparison's first seed; ± is a 95% "
                    "interval over queries.")
        return (f"Spot check: {self.candidates:,} of {self.of_candidates:,} candidates and {self.queries:,} of "
                f"{self.of_queries:,} queries, sampled at random (seed {self.seed}); ± is a 95% interval over "
                "queries, for τ also over sampled candidates.")

    @property
    def reference_said(self) -> str:
        """How the reference was computed, and whether its own error is bounded."""
        kind = "Reference, computed exactly" if self.bounded else "Reference, whose own error is not bounded"
        return f"{kind}: {self.convergence.summary}."

    @property
    def sentence(self) -> str:
        """How well the approximation ranks, in one sentence with its numbers."""
        against = ("the exact answer to its question" if self.bounded else
                   "a search for the answer to its question, not known to be right")
        said = self.words.sentence
        return f"{capital(self.scoring.route.title)} against {against}: {said[0].lower()}{said[1:]}"

    @property
    def record(self) -> dict[str, Any]:
        """As plain data; NaN, which JSON has not, as None."""
        return {"measured": True, "reference": self.reference.canonical(), "reference_bounded": self.bounded,
                "reference_computed": self.convergence.summary,
                "kendall_tau": {**_agreement(self.tau), "ci95_of_the_draw": _number(self.sampling_ci95),
                                "ci95_together": _number(self.ci95)},
                "top_overlap": {**_agreement(self.overlap), "top": self.top, "chance": self.chance},
                "word": self.words.word, "candidates": self.candidates, "of_candidates": self.of_candidates,
                "queries": self.queries, "of_queries": self.of_queries, "seed": self.seed}


@dataclass(frozen=True)
class NotMeasured:
    """Why there is no spot check of a scoring. seconds: what it would take, NaN where that is not the reason."""

    scoring: Scoring
    why: str
    seconds: float = nan

    @property
    def sentence(self) -> str:
        title = capital(self.scoring.route.title)
        return f"{title} against the exact answer to its question: not measured; {self.why}."

    @property
    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {"measured": False, "why": self.why}


def reference(scoring: Scoring) -> Scoring | NotMeasured:
    """The exact scoring of the same question."""
    if not scoring.route.implies:
        return NotMeasured(scoring, "it is a baseline without a specification")
    if scoring.exact:
        return NotMeasured(scoring, "it is computed exactly")
    if scoring.departures:
        own = " and ".join(departure.answers_for for departure in scoring.departures)
        return NotMeasured(scoring, f"its estimand is {own}, which has no exact method here")
    return scoring.exact_answer


class SpotCheckRequest(Request["SpotCheck | NotMeasured"]):
    """Measure how well an approximation ranks, against the exact answer to the same question.

    On random candidates and queries, as many as there are at most. Raises `InvalidInput` where the problem cannot be
    asked what the scoring asks, `Cancelled` through `options.check`.
    """

    name: ClassVar = "spot-check"
    job: ClassVar = False
    doing: ClassVar = "the exact answer"
    outputs: ClassVar = {"out": "What was measured, or why nothing was."}
    suffixes: ClassVar = {"out": ".json"}

    scoring: StoredScoring
    candidates: Annotated[Count, Field(ge=3, description="Number of sampled candidates.")] = CANDIDATES
    queries: Annotated[Count, Field(ge=2, description="Number of sampled queries.")] = QUERIES
    seed: Annotated[Seed, Field(description="Seed of the sample.")] = 0
    most_seconds: Annotated[float, Field(ge=0, description=(
        "Bound on the estimated cost of the exact answer."))] = 3600.0

    def run(self, problem: Problem, options: Options | None = None, store: Store | None = None
            ) -> SpotCheck | NotMeasured:
        scoring, exact = self.scoring, reference(self.scoring)
        if isinstance(exact, NotMeasured):
            return exact
        check(problem, scoring)
        rng, of = np.random.default_rng(self.seed), (len(problem.queries), len(problem.candidates))
        candidates, queries = (sampled(rng, count, size) for count, size in ((self.candidates, of[1]),
                                                                           (self.queries, of[0])))
        few = _narrowed(problem, candidates, queries)
        seconds = cost.guess([exact], few, len(candidates)) + cost.preparation([exact], few)[1]
        if seconds > self.most_seconds:
            return too_dear(scoring, seconds, len(candidates))
        approximate = compute(few, scoring, options)[0]
        try:
            right = compute(few, exact, options)[0]
        except InvalidInput as error:
            return NotMeasured(scoring, refused(error))
        return against(approximate, right, of=of, seed=self.seed)

    def written(self, answer: SpotCheck | NotMeasured, problem: Problem, output: str) -> dict[str, Any]:
        return {"spec": self.scoring.canonical(), "sentence": answer.sentence, **answer.record}

    def sentences(self, answer: SpotCheck | NotMeasured) -> list[str]:
        return [answer.sentence, *([answer.basis, answer.reference_said] if isinstance(answer, SpotCheck) else [])]


def against(approximate: Scores, exact: Scores, *, of: tuple[int, int] | None = None, seed: int | None = None
            ) -> SpotCheck | NotMeasured:
    """Scores of one question over the same queries and candidates, compared. of: out of how many (queries, candidates)
    they were drawn with `seed`; None where they are all there are."""
    usable = int((approximate.converged & exact.converged).sum())
    top = max(top_size(usable, 0.05), min(LEAST_TOP, usable // 2)) if usable else 1
    if usable < 2:
        return NotMeasured(approximate.scoring, f"{usable} of {len(exact.candidates)} candidates converged in both")
    try:
        comparison = compare([[approximate, exact]], fraction=top / usable, metrics=("kendall_tau", "top_overlap"))
    except InvalidInput as error:
        return NotMeasured(approximate.scoring, refused(error))
    queries, candidates = approximate.values.shape
    whole = of or (queries, candidates)
    spread = 0.0 if of is None else jackknife(Together.of([approximate, exact]), whole[1])
    return SpotCheck(approximate.scoring, exact.scoring, comparison.agreement("kendall_tau", 0, 1),
                     comparison.agreement("top_overlap", 0, 1), spread, top, usable, whole[1], queries, whole[0], seed,
                     exact.convergence, bounded(exact, approximate.scoring))


def bounded(exact: Scores, judged: Scoring) -> bool:
    """Whether a reference is known to be right for judging an approximation (`engine.scoring.reference`): computed as
    defined, or solved to a bound. Candidates that missed it are left out, as in every comparison."""
    return exact.scoring.exact and standing(exact.scoring, EVERY_PROBLEM, SolveEvidence.of([exact]), judged).trusted


def jackknife(together: Together, of: int) -> float:
    """1.96 standard errors of the mean τ over queries, over the draw of k of `of` candidates; NaN for fewer than 3."""
    k = together.stack.shape[-1]
    if k < 3:
        return nan
    without = [over_known(_tau, np.delete(together.stack, j, 2), np.delete(together.known, j, 1))["tau"][0, 1]
               for j in range(k)]
    without = [float(np.nanmean(one)) for one in without]
    return Z95 * sqrt(max(0.0, 1 - k / of) * (k - 1) * float(np.var(without)))


def sampled(rng: np.random.Generator, count: int, of: int) -> np.ndarray:
    """`count` of the indices 0 … of − 1, or all of them, ascending."""
    return np.sort(rng.choice(of, size=min(count, of), replace=False))


def too_dear(scoring: Scoring, seconds: float, candidates: int) -> NotMeasured:
    """That the exact answer for so many candidates takes too long, and how long."""
    why = f"the exact answer for {candidates:,} candidates takes about {_spelled(seconds)}"
    return NotMeasured(scoring, why, seconds)


def refused(error: InvalidInput | str) -> str:
    """Why an exact answer cannot be had, as the rest of a sentence."""
    return f"the exact answer is not available: {str(error).rstrip('.')}"


def _tau(stack: np.ndarray) -> dict[str, np.ndarray]:
    return {"tau": pairwise(stack, ("kendall",))["kendall"]}


def _narrowed(problem: Problem, candidates: np.ndarray, queries: np.ndarray) -> Problem:
    """The same trained problem with some of its candidates and queries."""
    held = problem.examples
    few = held._replace(queries=held.queries[queries], query_labels=held.query_labels[queries],
                        candidates=held.candidates[candidates])
    return problem.holding(few, Shared(problem.shared.model, ProblemMemory()))


def _agreement(agreement: MeanAgreement) -> dict[str, Any]:
    return {name: _number(value) for name, value in agreement.columns.items()}


def _number(value: float) -> float | None:
    return value if value == value else None


def _spelled(seconds: float) -> str:
    size, unit = next(pair for pair in ((3600.0, "h"), (60.0, "min"), (1.0, "s")) if seconds >= 1.5 * pair[0] or
                      pair[0] == 1.0)
    return f"{max(1.0, seconds / size):,.0f} {unit}"
