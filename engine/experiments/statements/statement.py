r"""A conclusion of the paper as a statement that published rows confirm, contradict or leave undecided.

A statement is one or several clauses E[v] > beyond, each with a value v of every seed, taken pairwise within the seed
where two rows are compared. With k clauses, t-intervals over the seeds decide:

    confirmed      the 95% interval of every clause lies above `beyond` (an intersection–union test: Berger 1982)
    contradicted   of some clause the interval at 1 − 0.05/k lies below it (Bonferroni)
    undecided      otherwise, of a single seed, and of a run that is too small to show the effect

The first is called the raw interval, the second the adjusted one; of a single clause they are one. Nothing is adjusted
across statements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from engine.basics.values import signed
from engine.experiments.conventions import of_folder
from engine.experiments.paper_numbers import in_our_names
from engine.experiments.statements.rows import TableRows
from engine.metrics.intervals import t_interval, t_quantile

CONFIRMED, CONTRADICTED, UNDECIDED = "confirmed", "contradicted", "undecided"
LEVEL = 0.95
ONE_SEED = ("One seed has no interval, and holds for one machine: fine-tuning with the same seed gives a different "
            "model on a different CPU.")
"""What a result of one seed says."""
MOST_SEEDS = 1_000
"""Where counting the seeds that a decision takes ends."""


def adjusted_level(clauses: int) -> float:
    """1 − 0.05/k: what each of k intervals has to cover, that by chance all do with 95% at least (Bonferroni)."""
    return 1 - (1 - LEVEL) / clauses


@dataclass(frozen=True)
class Clause:
    """What has to be larger than `beyond`: values, one a seed, and the words for them. note: more to say of them.
    grain: the step between the values that are possible, as of a share of few; 0 for any."""

    title: str
    values: tuple[float, ...]
    beyond: float = 0.0
    note: str = ""
    grain: float = 0.0

    @classmethod
    def of(cls, title: str, values: Iterable[float], beyond: float = 0.0, note: str = "", grain: float = 0.0) -> Clause:
        return cls(title, tuple(float(value) for value in np.asarray(values)), beyond, note, grain)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Mean and half width over the seeds; the half width of one seed is NaN."""
        return t_interval(self.values, level, self.grain)

    def bounds(self, level: float = LEVEL) -> tuple[float, float]:
        """The ends of the interval; NaN of one seed."""
        mean, half = self.interval(level)
        return mean - half, mean + half

    @property
    def seeds(self) -> int:
        """How many seeds have a value."""
        return sum(not math.isnan(value) for value in self.values)

    @property
    def is_rounded(self) -> bool:
        """Whether the seeds lie closer together than values of this grain can tell, so that the grain is the spread."""
        return self.grain > 0 and self.interval() != t_interval(self.values)

    @property
    def margin(self) -> float:
        """How far the mean lies above what it has to exceed."""
        return self.interval()[0] - self.beyond

    @property
    def holds(self) -> bool:
        """Whether the 95% interval lies above; False where there is none."""
        return self.margin - self.interval()[1] > 0

    def fails(self, clauses: int) -> bool:
        """Whether the interval at 1 − 0.05/clauses lies below; False where there is none."""
        return self.margin + self.interval(adjusted_level(clauses))[1] < 0

    def seeds_to_decide(self, clauses: int) -> float:
        """The least n ≥ 2 with t_{n−1} · s/√n < |m|, for this margin m and deviation s, so that it decides: at
        95% where the mean lies above `beyond`, else at 1 − 0.05/clauses. inf beyond `MOST_SEEDS`, NaN of one seed."""
        level = LEVEL if self.margin > 0 else adjusted_level(clauses)
        if self.seeds < 2:
            return math.nan
        spread = self.interval()[1] * math.sqrt(self.seeds) / t_quantile(self.seeds)
        return next((float(n) for n in range(2, MOST_SEEDS + 1)
                     if t_quantile(n, level) * spread / math.sqrt(n) < abs(self.margin)), math.inf)

    def outcome(self, clauses: int) -> str:
        """`holds`, `fails` or `open`, as one of so many."""
        return "holds" if self.holds else "fails" if self.fails(clauses) else "open"


@dataclass(frozen=True)
class Statement:
    """name: for the command line. sentence: what the paper concludes. needs: the experiments whose rows at one scale
    decide it, the first one with the rows to look at. figure: what the values of its clauses are, in a few words.
    clauses: the rows of each experiment needed -> clauses; a `Missing` row leaves the statement undecided. compared:
    titles of the behaviors that it compares, which stays undecided where they are collinear.
    """

    name: str
    sentence: str
    needs: tuple[str, ...]
    figure: str
    clauses: Callable[[Mapping[str, TableRows]], list[Clause]]
    compared: tuple[tuple[str, str], ...] = ()


def verdict(clauses: Iterable[Clause]) -> str:
    """What the intervals decide, as the module says; undecided without a clause."""
    clauses = list(clauses)
    if clauses and all(clause.holds for clause in clauses):
        return CONFIRMED
    return CONTRADICTED if any(clause.fails(len(clauses)) for clause in clauses) else UNDECIDED


@dataclass(frozen=True)
class Finding:
    """What one scale says of a statement. scale: the folder of the results, such as `small`; preset: its preset.

    short: why the run is too small to show the effect, else empty. lacks: which row was not run, or why it decides
    nothing, else empty.
    """

    statement: Statement
    scale: str
    preset: str
    clauses: tuple[Clause, ...] = ()
    short: str = ""
    lacks: str = ""

    @property
    def sentence(self) -> str:
        """The statement's, with the behaviors by the names of what was computed."""
        return in_our_names(self.statement.sentence, of_folder(self.scale))

    @property
    def verdict(self) -> str:
        return UNDECIDED if self.short or self.lacks else verdict(self.clauses)

    @property
    def seeds(self) -> int:
        """The least number of seeds behind a clause."""
        return min((clause.seeds for clause in self.clauses), default=0)

    @property
    def least(self) -> Clause | None:
        """The clause with the smallest margin, which decides whether all hold."""
        return min(self.clauses, key=lambda clause: clause.margin, default=None)

    @property
    def figure(self) -> str:
        """`+0.25 ± 0.14`: of the least clause, with what it has to exceed unless that is 0."""
        if self.least is None:
            return ""
        mean, half = self.least.interval()
        digits = 3 if half < 0.1 else 2
        spread = "" if math.isnan(half) else f" ± {half:.{digits}f}"
        if self.least.beyond:
            return f"{mean:.{digits}f}{spread} (more than {self.least.beyond:g} needed)"
        return signed(mean, digits, "+") + spread

    @property
    def adjusted(self) -> str:
        """`± 0.29 adjusted for 4`: the half width of the least clause that contradicting takes; empty where that is the
        raw one, or there is none."""
        half = math.nan if self.least is None else self.least.interval(adjusted_level(len(self.clauses)))[1]
        if math.isnan(half) or len(self.clauses) == 1:
            return ""
        return f"± {half:.{3 if half < 0.1 else 2}f} adjusted for {len(self.clauses)}"

    @property
    def counted(self) -> str:
        """How many clauses hold and fail, and which has the least mean; of a single clause its words."""
        if self.least is None:
            return ""
        if len(self.clauses) == 1:
            return "; ".join(filter(None, [self.least.title, self.least.note]))
        outcomes = [clause.outcome(len(self.clauses)) for clause in self.clauses]
        failing = f", {outcomes.count('fails')} fail" if "fails" in outcomes else ""
        return (f"{outcomes.count('holds')} of {len(self.clauses)} comparisons hold{failing}; smallest mean: "
                f"{self.least.title}")

    @property
    def why(self) -> str:
        """Why nothing is decided, where it is not for the interval; else empty."""
        if self.short:
            return f"Too small to show the effect: {self.short}"
        if self.lacks:
            return self.lacks
        if self.seeds == 1:
            return ONE_SEED
        return self._seeds_wanted if self.clauses and self.verdict == UNDECIDED else ""

    @property
    def _seeds_wanted(self) -> str:
        """How many seeds would decide where mean and spread stay: the most of any clause, or the fewest of those whose
        mean lies on the other side."""
        count, against = len(self.clauses), [clause for clause in self.clauses if clause.margin < 0]
        wanted = [clause.seeds_to_decide(count) for clause in against or self.clauses]
        seeds = min(wanted) if against else max(wanted)
        number = f"{seeds:.0f} seeds" if seeds <= MOST_SEEDS else f"more than {MOST_SEEDS:,} seeds"
        return f"With this mean and spread {number} would {'contradict' if against else 'confirm'} it."
