"""Benchmarks whose other side is real trainings without some examples: LDS, removal of the top, leave-one-out.

All three train by the protocol of the sizes (`engine.analysis.protocols`). LDS and leave-one-out also say what the
exact answer of another training seed reaches: a ceiling for scores that do not know the seed of the models, though not
for the mean of many seeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from scipy.stats import rankdata

from engine.analysis.datamodels import agreement_of_outcomes, linear_datamodeling_score
from engine.analysis.groups import effects
from engine.analysis.protocols import trained_outputs
from engine.analysis.scorecard.benchmark import CEILING, OTHER, Benchmark, Case, Measured, SeedValues, Sizes, removal
from engine.analysis.subset_bank import Draw, bank
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.metrics.agreement import top_size
from engine.metrics.intervals import known_mean
from engine.problems import Problem
from engine.problems.variants import trained_on
from engine.question.behaviors import BEHAVIORS

ENTRIES = 4_000_000
"""Numbers that are held at once while columns are left out in turn."""


def seeds_of(problem: Problem, sizes: Sizes) -> int:
    """R, how many training seeds make a difference: one, where training has one optimum, or where a recorded run says
    what its batches were."""
    return 1 if problem.convex or problem.replays_batches else sizes.seeds


def _lds(case: Case) -> dict[str, Measured]:
    sizes, count = case.sizes, seeds_of(case.problem, case.sizes)
    scores = [_scores_of_seed(case, later, case.options.stage(later, 2 * count)) for later in range(count)]
    measured: dict[str, dict[str, SeedValues]] = {name: {} for name in (*case.methods, CEILING)}
    for index, fraction in enumerate(sizes.fractions):
        draw = Draw(count=sizes.models, share=fraction, seed=sizes.seed, among=sizes.among, protocol=sizes.protocol)
        share_of = case.options.stage(len(sizes.fractions) + index, 2 * len(sizes.fractions))
        models = [bank(case.problem, draw.model_copy(update={"later": later}), case.store, share_of.stage(later, count))
                  for later in range(count)]
        outcomes, members = [own.outcomes(case.behavior) for own in models], models[0].members
        measure = draw.description(case.problem.n, len(case.problem.candidates))
        for name in case.methods:
            own = [one[name] for one in scores if name in one]
            measured[name][measure] = _over_seeds(own, outcomes[:len(own)], members)
            if count > 1:
                measured[name][measure + OTHER] = _over_seeds(own, (outcomes[1:] + outcomes[:1])[:len(own)], members)
        if count > 1 or case.problem.convex:
            measured[CEILING][measure] = agreement_of_banks(outcomes)
    return dict(measured)


def _scores_of_seed(case: Case, later: int, options: Options) -> dict[str, np.ndarray]:
    """Oriented scores of every method on the model that is trained so many seeds after the problem's own, of which no
    other program has any."""
    problem, seeded = case.problem, replace(options, seed=options.seed + later)
    trained = problem if later == 0 else trained_on(problem, problem.examples, seeded.stage(0, 2), later)
    return case.scores(trained, seeded.stage(1, 2))


def _over_seeds(scores: Sequence[np.ndarray], outcomes: Sequence[np.ndarray], members: np.ndarray) -> SeedValues:
    """LDS (R, m) of scores (m, k) and outcomes (m, J) of each of R seeds."""
    pairs = list(zip(scores, outcomes, strict=True))
    values = np.stack([linear_datamodeling_score(own, out, members) for own, out in pairs])
    predicted = np.concatenate([own @ members.T.astype(np.float64) for own, _ in pairs])
    return SeedValues(values, len(members), jackknife_error(predicted, np.concatenate([out for _, out in pairs])))


def agreement_of_banks(outcomes: Sequence[np.ndarray]) -> SeedValues:
    """Spearman's ρ over subsets of the outcomes (m, J) under two seeds, (pairs of seeds, m); 1 of a single one, which
    stands for all seeds.

    It is what the exact answer to the benchmark's question under one seed would have as its score under another."""
    if len(outcomes) < 2:
        return SeedValues(np.ones((1, len(outcomes[0]))), outcomes[0].shape[1], 0.0)
    pairs = list(itertools.combinations(outcomes, 2))
    values = np.stack([agreement_of_outcomes(a, b) for a, b in pairs])
    a, b = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return SeedValues(values, outcomes[0].shape[1], jackknife_error(a, b))


def jackknife_error(a: np.ndarray, b: np.ndarray) -> float:
    """The standard error of the mean of ρ over rows (m, J) by the choice of the J columns, which the rows share:

        √((J − 1)/J Σ_j (ρ̄_j − mean ρ̄)²),   ρ̄_j without column j  (Tukey 1958)
    """
    count, size = a.shape[1], max(1, ENTRIES // a.size)
    means = []
    for columns in np.array_split(np.arange(count), -(-count // size)):
        x, y = _ranks_without(a, columns), _ranks_without(b, columns)
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = (x * y).sum(2) / np.sqrt((x**2).sum(2) * (y**2).sum(2))
        means += [known_mean(own) for own in rho.T]
    return float(np.sqrt((count - 1) * np.var(means)))


def _ranks_without(a: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """(m, b, J): the centred ranks of rows (m, J) without one of b columns in turn, which is zero itself; ties at the
    mean of their places. Taking a_j out lowers the rank of a_i by 1 where a_j < a_i, by ½ where they are equal."""
    out, every = a[:, columns, None], a[:, None, :]
    ranks = rankdata(a, axis=1)[:, None, :] - (out < every) - 0.5 * (out == every) - a.shape[1] / 2
    ranks[:, np.arange(len(columns)), columns] = 0.0
    return ranks


def _removal(case: Case) -> dict[str, Measured]:
    """The top of a query's own ranking is removed for that query; equal groups are trained without once."""
    problem, sizes = case.problem, case.sizes
    queries = range(min(sizes.queries, len(problem.queries)))
    tops = {(name, query, fraction): tuple(sorted(np.argsort(-own[query], kind="stable")[
        :top_size(len(problem.candidates), fraction)].tolist()))
        for name, own in case.scores(problem, case.options.stage(0, 2)).items() for query in queries
        for fraction in sizes.removed}
    groups = list(dict.fromkeys(tops.values()))
    rows = [problem.candidates[torch.tensor(group, device=problem.device)] for group in groups]
    lost = dict(zip(groups, -removed(case, rows, case.options.stage(1, 2)).T, strict=True))
    return {name: {f"top {fraction:.0%}": np.array([lost[tops[name, query, fraction]][query] for query in queries])
                   for fraction in sizes.removed} for name in case.methods}


def _leave_one_out(case: Case) -> dict[str, Measured]:
    problem = case.problem
    rows = list(problem.candidates.split(1))
    exact = -removed(case, rows, case.options.stage(0, 3))
    scores = case.scores(problem, case.options.stage(1, 3))
    measured: dict[str, Measured] = {name: {"": pearson(own, exact)} for name, own in scores.items()}
    if problem.convex:  # one optimum: another seed has the same answer
        return {**measured, CEILING: {"": np.ones(len(exact))}}
    if seeds_of(problem, case.sizes) == 1:
        return measured
    return {**measured, CEILING: {"": pearson(-removed(case, rows, case.options.stage(2, 3), later=1), exact)}}


def removed(case: Case, groups: Sequence[torch.Tensor], options: Options, later: int = 0) -> np.ndarray:
    """What training without each group does to the behavior, (m, G), by the protocol; raw.

    B(q; θ(D ∖ G)) − B(q; θ(D)), both by the protocol with the same `later`; under `seeds` each with its own seed.
    """
    problem, sizes = case.problem, case.sizes
    if later == 0 and sizes.protocol == "weights":
        return effects(problem, removal(case.behavior), groups, options)
    held, [readout] = problem.for_differences(options.precision).asking([BEHAVIORS[case.behavior]])
    members = torch.ones(1 + len(groups), problem.n, dtype=torch.bool, device=problem.device)
    for own, rows in zip(members[1:], groups, strict=True):
        own[rows] = False
    logits = trained_outputs(held, members, sizes.protocol, later, 0, options)
    if not logits.isfinite().all():
        raise InvalidInput("A training run without a group diverged; choose a smaller learning rate.")
    values = readout.value(logits, held.query_labels.expand(logits.shape[:2])).T.double()
    return (values[:, 1:] - values[:, :1]).cpu().numpy()


def pearson(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson's correlation of rows (m, k), (m,); NaN where one is constant."""
    a, b = (values - values.mean(1, keepdims=True) for values in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1))


def _trained_on_subsets(sizes: Sizes, methods: int) -> int:
    return sizes.seeds * sizes.models * len(sizes.fractions) + sizes.seeds - 1


LDS = Benchmark(
    "lds", "Linear datamodeling score",
    "Spearman's ρ between the summed scores of the candidates in a random subset and the behavior of a model trained "
    "on it. `other seed`: the model that is scored and those on subsets have different training seeds.",
    "Do summed scores predict the behavior of a model trained without many examples?",
    "Park et al. 2023", _lds, removal, trainings=_trained_on_subsets, retrains=True, chance=0.0)
REMOVAL = Benchmark(
    "removal", "Top-k removal",
    "The drop of the behavior at a query after removing the top k of its own ranking and retraining.",
    "Which group of examples, removed together, lowers this query's behavior most? The top k of a ranking is not "
    "necessarily that group.",
    "Ilyas et al. 2022, Park et al. 2023", _removal, removal,
    trainings=lambda sizes, methods: methods * sizes.queries * len(sizes.removed), retrains=True)
LEAVE_ONE_OUT = Benchmark(
    "leave_one_out", "Leave-one-out correlation",
    "Pearson's correlation over candidates of the scores and the exact effects of removing single examples.",
    "What does retraining without one example change?", "Koh and Liang 2017", _leave_one_out,
    removal, trainings=lambda sizes, methods: 2 * (sizes.candidates + 1), retrains=True, chance=0.0)
