"""Benchmarks whose other side is real trainings without some examples: LDS, removal of the top, leave-one-out."""

from __future__ import annotations

import numpy as np
import torch

from engine.analysis.datamodels import linear_datamodeling_score
from engine.analysis.groups import effects
from engine.analysis.scorecard.benchmark import Benchmark, Case, Measured, removal
from engine.analysis.subset_bank import Draw, bank
from engine.metrics.agreement import top_size


def _lds(case: Case) -> dict[str, Measured]:
    sizes = case.sizes
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in case.methods}
    scores = case.scores(case.problem, case.options.share(0, 2))
    for place, share in enumerate(sizes.fractions):
        draw = Draw(count=sizes.models, share=share, seed=sizes.seed)
        models = bank(case.problem, draw, case.store, case.options.share(len(sizes.fractions) + place,
                                                                         2 * len(sizes.fractions)))
        outcomes = models.outcomes(case.behavior)
        for name, own in scores.items():
            found[name][f"{share:.0%} kept"] = linear_datamodeling_score(own, outcomes, models.kept)
    return dict(found)


def _removal(case: Case) -> dict[str, Measured]:
    """The top of a query's own ranking is removed for that query; equal groups are trained without once."""
    problem, sizes = case.problem, case.sizes
    queries = range(min(sizes.queries, len(problem.queries)))
    tops = {(name, query, share): tuple(sorted(np.argsort(-own[query], kind="stable")[
        :top_size(len(problem.candidates), share)].tolist()))
        for name, own in case.scores(problem, case.options.share(0, 2)).items() for query in queries
        for share in sizes.removed}
    groups = list(dict.fromkeys(tops.values()))
    rows = [problem.candidates[torch.tensor(group, device=problem.device)] for group in groups]
    lost = dict(zip(groups, -effects(problem, removal(case.behavior), rows, case.options.share(1, 2)).T, strict=True))
    return {name: {f"top {share:.0%}": np.array([lost[tops[name, query, share]][query] for query in queries])
                   for share in sizes.removed} for name in case.methods}


def _leave_one_out(case: Case) -> dict[str, Measured]:
    problem = case.problem
    exact = -effects(problem, removal(case.behavior), problem.candidates.split(1), case.options.share(0, 2))
    scores = case.scores(problem, case.options.share(1, 2))
    return {name: {"": pearson(own, exact)} for name, own in scores.items()}


def pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson's correlation of rows (m, k), (m,); NaN where one is constant."""
    a, b = (part - part.mean(1, keepdims=True) for part in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1))


LDS = Benchmark(
    "lds", "Linear datamodeling score",
    "Spearman's ρ between the summed scores of a random subset and the behavior of a model trained on it.",
    "Does the ranking add up to what a model does that was trained without many examples at once?",
    "Park et al. 2023", _lds, removal,
    trainings=lambda sizes, methods: sizes.models * len(sizes.fractions))
REMOVAL = Benchmark(
    "removal", "Behavior lost without the top",
    "How much the behavior at a query falls when the top of its own ranking is removed and the model is trained again.",
    "Which group of examples, removed together, hurts this query most? The sum over a ranking need not be that.",
    "Ilyas et al. 2022, Park et al. 2023", _removal, removal,
    trainings=lambda sizes, methods: methods * sizes.queries * len(sizes.removed))
LEAVE_ONE_OUT = Benchmark(
    "leave_one_out", "Leave-one-out correlation",
    "Pearson's correlation over candidates of the scores and the exact effects of removing single examples.",
    "What does training again without one example change, on the same seed?", "Koh and Liang 2017", _leave_one_out,
    removal, trainings=lambda sizes, methods: sizes.candidates)
