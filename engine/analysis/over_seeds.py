r"""A question about single training runs, asked of more and more of them.

    this run       the score of one seed
    expectation    the mean over s seeds, with its standard error; s grows by two until the ranking is stable
    distribution   what an intervention does to how the behavior is spread over seeds, not to its mean:

        variance      Var_s B(q; θ_k^s) − Var_s B(q; θ^s),      for a derivative 2 Cov_s(B(q; θ^s), dB(q; θ^s)/dα)
        Wasserstein   W₁ between {B(q; θ_k^s)}_s and {B(q; θ^s)}_s, the mean distance of their sorted values

with sample (co)variances. The ranking is *stable* where the means over every second seed, and over the others, agree
with Kendall's τ of at least `stable`, mean over queries: each of them has half the seeds, so that the mean of all
agrees with another such mean at least about as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import Count, Number
from engine.exact.retrain import factual_logits
from engine.metrics.agreement import kendall_tau
from engine.problems import ModuleProblem, Problem
from engine.question.runs import Seeded
from engine.requests import OfCandidates, Request, Vouched
from engine.requests.fields import StoredScoring
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from engine.store.results import Store

FEWEST, MOST = 4, 16
STABLE = 0.8
NO_RANDOMNESS = "Training softmax regression is deterministic, so all seeds agree; choose a network."


@dataclass(frozen=True)
class OverSeeds:
    """scores: the mean over all seeds that were run, with its standard error. table: a row a number of seeds, with
    stability and noise. stable: whether the ranking is. single: the scores of each run, by its seed."""

    scores: Scores
    table: pd.DataFrame
    stable: bool
    single: dict[int, Scores]

    @property
    def sentence(self) -> str:
        """How many seeds it took, or what they left open."""
        last = self.table.iloc[-1]
        end = "the ranking is stable" if self.stable else "the ranking is not stable at the maximal number of seeds"
        return (f"After {int(last['seeds'])} seeds {end}: two halves of them agree with τ = {last['stability']:.2f}, "
                f"and the standard error is {last['noise']:.2f} of the spread over training examples.")

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """seed, tau: how the ranking of each run agrees with the mean over all others, mean over queries."""
        runs = list(self.single.values())
        converged = np.all([one.converged for one in runs], 0)
        values = np.stack([one.values[:, converged] for one in runs])
        others = (values.sum(0) - values) / (len(runs) - 1)
        tau = [agreeing(own, mean) for own, mean in zip(values, others, strict=True)]
        return pd.DataFrame({"seed": list(self.single), "tau": tau})

    @property
    def run_sentence(self) -> str:
        """What the ranking of a single run is worth for the others."""
        tau = self.agreement["tau"]
        return (f"The ranking of a single run agrees with the mean over the other {len(tau) - 1} with τ = "
                f"{tau.mean():.2f} ({tau.min():.2f} to {tau.max():.2f}).")


@dataclass(frozen=True)
class SeedRuns:
    """single: the scores of each run, in order. outcomes (s, m): B(q; θ^s) of the runs themselves."""

    single: tuple[Scores, ...]
    outcomes: np.ndarray


class SeedRunsRequest(OfCandidates[SeedRuns]):
    """Ask one question of several training runs.

    A chunk is a run, so that a job that was interrupted goes on. Raises as `compute` does.
    """

    name: ClassVar = "over-seeds"
    doing: ClassVar = "training runs"
    shared: ClassVar = True

    scoring: StoredScoring
    seeds: Annotated[Count, Field(ge=2, le=1_000)]

    def title(self, problem: str) -> str:
        return f"{self.scoring.title} over {self.seeds} seeds on {problem}, examples: {self.count:,}"

    @property
    def chunks(self) -> list[str]:
        return [str(index) for index in range(self.seeds)]

    def compute(self, problem: Problem, chunk: str, options: Options, store: Store) -> SeedRuns:
        if problem.convex:
            raise InvalidInput(NO_RANDOMNESS)
        run = run_of(self.scoring, int(chunk))
        scores = compute(problem, run, options)
        return SeedRuns(tuple(scores), outcomes(problem, self.scoring, seeds_of(run, problem.seed)))


class MeanOverSeedsRequest(Request[OverSeeds]):
    """Average a retraining or a replay over as many seeds as its ranking needs.

    Raises `InvalidInput` for a process without seeds, for a model whose training draws nothing, and as `compute` does.
    """

    name: ClassVar = "mean-over-seeds"
    command: ClassVar = "over-seeds"
    job: ClassVar = False
    doing: ClassVar = "training runs"
    outputs: ClassVar = {"out": "Output scores, the mean over seeds, with a manifest .json beside them.",
                         "spread": "Output table: the change of the variance over seeds and the Wasserstein distance, "
                                   "one row per query and candidate."}
    suffixes: ClassVar = {"out": ".npz"}
    vouched: ClassVar = ("out",)

    scoring: StoredScoring
    stable: Annotated[Number, Field(ge=-1, le=1, description=(
        "Kendall's τ between two halves of the seeds at which the ranking counts as stable."))] = STABLE
    most: Annotated[Count, Field(ge=FEWEST, le=1_000, description="Maximal number of seeds.")] = MOST

    def run(self, problem: Problem, options: Options | None = None, store: Store | None = None) -> OverSeeds:
        options, process = options or Options(), self.scoring.process
        if not isinstance(process, Seeded) or not self.scoring.exact:
            raise InvalidInput(f"“{self.scoring.title}” is not an exact answer with seeds; use `retrain` or `replay`.")
        if problem.convex:
            raise InvalidInput(NO_RANDOMNESS)
        single: list[Scores] = []
        rows: list[dict[str, float]] = []
        while len(single) < self.most:
            for _ in range(min(2, self.most - len(single))):
                single += compute(problem, run_of(self.scoring, len(single)), options.stage(len(single), self.most))
            rows.append(_row(single, process))
            if len(single) >= FEWEST and rows[-1]["stability"] >= self.stable:
                break
        options.progress(1.0)
        return _over_seeds(single, process, problem.seed, rows, self.stable)

    def written(self, answer: OverSeeds, problem: Problem, output: str) -> Vouched | pd.DataFrame:
        if output == "out":
            return Vouched(answer.scores.npz(), answer.scores.provenance)
        return distribution(problem, answer)

    def sentences(self, answer: OverSeeds) -> list[str]:
        return [*(f"{row.seeds:>4} seeds  τ between halves {row.stability:+.3f}  standard error {row.noise:.2f}"
                  for row in answer.table.itertuples()), answer.sentence]


def run_of(scoring: Scoring, index: int) -> Scoring:
    """The question about run 0, 1, … of those that the scoring of a `Seeded` process begins with."""
    process = _seeded(scoring)
    one = process.model_copy(update={"seeds": 1, "first": process.first + index})
    return Scoring.of(scoring.behavior, scoring.intervention, one.model_dump(), scoring.estimator)


def seeds_of(scoring: Scoring, own: int) -> range:
    """The seeds that the scoring of a `Seeded` process is about, for a problem that was trained with the seed `own`."""
    return _seeded(scoring).runs(own)


def _seeded(scoring: Scoring) -> Seeded:
    assert isinstance(scoring.process, Seeded), "no other has runs"
    return scoring.process


def of_runs(single: Sequence[Scores], scoring: Scoring, seed: int) -> OverSeeds:
    """What runs that are all done say: `single` are those of `run_of` 0, 1, …, two at least, of a problem that was
    trained with `seed`."""
    process = _seeded(scoring)
    sizes = sorted({*range(2, len(single), 2), len(single)})
    return _over_seeds(single, process, seed, [_row(single[:size], process) for size in sizes], STABLE)


def _row(single: Sequence[Scores], process: Seeded) -> dict[str, float]:
    noise = mean_of(single, process).noise
    return {"seeds": len(single), "stability": _stability(single), "noise": np.nan if noise is None else noise}


def _over_seeds(single: Sequence[Scores], process: Seeded, seed: int, rows: Sequence[dict[str, float]], stable: float
                ) -> OverSeeds:
    seeds = process.model_copy(update={"seeds": len(single)}).runs(seed)
    return OverSeeds(mean_of(single, process), pd.DataFrame(rows), bool(rows[-1]["stability"] >= stable),
                     dict(zip(seeds, single, strict=True)))


def mean_of(single: Sequence[Scores], process: Seeded) -> Scores:
    """The scores of the expectation, from those of its runs, at least two. process: of the first of them."""
    first, values = single[0], np.stack([one.values for one in single])
    of_all = process.model_copy(update={"seeds": len(single)}).model_dump()
    scoring = Scoring.of(first.scoring.behavior, first.scoring.intervention, of_all)
    question = {"spec": scoring.canonical(), "digest": scoring.digest, "question": scoring.question}
    scores = Scores(scoring, values.mean(0), first.candidates, np.all([one.converged for one in single], 0),
                    np.max([one.residual for one in single], 0), {**first.provenance, **question},
                    standard_error=values.std(0, ddof=1) / len(single) ** 0.5,
                    error=np.mean([one.bound for one in single], 0))
    return replace(scores, provenance={**scores.provenance, "noise_of_seeds": scores.noise})


def _stability(single: Sequence[Scores]) -> float:
    """Mean over queries of τ between the means over every second seed and over the others."""
    converged = np.all([one.converged for one in single], 0)
    halves = [np.mean([one.values[:, converged] for one in single[start::2]], 0) for start in (0, 1)]
    return agreeing(*halves)


def agreeing(a: np.ndarray, b: np.ndarray) -> float:
    """The mean over queries of Kendall's τ between two arrays (m, k); NaN rows are left out."""
    return float(np.nanmean(kendall_tau(a, b)))


def distribution(problem: Problem, over: OverSeeds, options: Options | None = None) -> pd.DataFrame:
    """As `spread` says, of the problem that was averaged."""
    return spread(over, outcomes(problem, over.scores.scoring, list(over.single), options))


def outcomes(problem: Problem, scoring: Scoring, seeds: Sequence[int], options: Options | None = None) -> np.ndarray:
    """B(q; θ^s) of the trainings with these seeds, (s, m)."""
    held, read = problem.double().asking([scoring.readout])
    assert isinstance(held, ModuleProblem), "no other is averaged over seeds"
    return np.stack([read[0].value(logits, held.query_labels).cpu().numpy()
                     for logits in factual_logits(held, seeds, options or Options())])


def spread(over: OverSeeds, before: np.ndarray) -> pd.DataFrame:
    """query, candidate, variance, wasserstein: a row a pair; Wasserstein NaN for a derivative. before: `outcomes`."""
    scoring = over.scores.scoring
    change = np.stack([one.values for one in over.single.values()])  # (s, m, k)
    wider = _spread_rate(before, change) if scoring.process.derivative else _spread_change(before, change)
    far = np.full(wider.shape, np.nan) if scoring.process.derivative else _wasserstein(before, change)
    queries, candidates = np.indices(wider.shape)
    return pd.DataFrame({"query": queries.ravel(), "candidate": over.scores.candidates[candidates.ravel()],
                         "variance": wider.ravel(), "wasserstein": far.ravel()})


def _spread_rate(before: np.ndarray, rate: np.ndarray) -> np.ndarray:
    aside = before - before.mean(0)
    return 2 * np.einsum("sm,smk->mk", aside, rate - rate.mean(0)) / (len(before) - 1)


def _spread_change(before: np.ndarray, change: np.ndarray) -> np.ndarray:
    return (before[..., None] + change).var(0, ddof=1) - before.var(0, ddof=1)[:, None]


def _wasserstein(before: np.ndarray, change: np.ndarray) -> np.ndarray:
    after = np.sort(before[..., None] + change, 0)
    return np.abs(after - np.sort(before, 0)[..., None]).mean(0)
