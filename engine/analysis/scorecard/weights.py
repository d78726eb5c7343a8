"""Benchmarks that train another model, or none: stability over seeds, and random weights."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import torch

from engine.analysis.scorecard.benchmark import Benchmark, Case, Measured
from engine.analysis.scorecard.method import card_method
from engine.metrics.rank_similarity import spearman
from engine.problems.variants import trained_on, with_random_weights


def _stability(case: Case) -> dict[str, Measured]:
    """|top ∩ top'| / top of a query under two training seeds, averaged over pairs of seeds: a value a query."""
    sizes, size = case.sizes, min(case.sizes.top, len(case.problem.candidates))
    rankings: dict[str, list[np.ndarray]] = {name: [] for name in case.methods}
    for later in range(sizes.seeds):
        seeded = replace(case.options.stage(later, sizes.seeds), seed=case.options.seed + later)
        trained = case.problem if later == 0 else trained_on(case.problem, case.problem.examples, seeded.stage(0, 2),
                                                             later)
        for name, own in case.scores(trained, seeded.stage(1, 2)).items():
            rankings[name].append(np.argsort(-own, axis=1, kind="stable")[:, :size])
    return {name: {f"top {size}": np.mean([_common(a, b) for a, b in itertools.combinations(tops, 2)], 0)}
            for name, tops in rankings.items()}


def _common(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The share of rows' entries (m, s) that both have, (m,)."""
    return np.array([len(np.intersect1d(one, other)) / a.shape[1] for one, other in zip(a, b, strict=True)])


def _randomisation(case: Case) -> dict[str, Measured]:
    """Spearman's ρ of the scores and those of the same method on a model with random weights, a value a query."""
    random = with_random_weights(case.problem, case.sizes.seed + 1)
    before = case.scores(case.problem, case.options.stage(0, 2))
    reseeded = replace(case.options.stage(1, 2), seed=case.options.seed + 1)
    measured: dict[str, Measured] = {}
    for name, own in before.items():
        if not card_method(name).reads_weights:  # other weights are not asked for
            measured[name] = {"": np.ones(len(own))}
            continue
        after = card_method(name).scores(random, case.behavior, reseeded)
        measured[name] = {"": spearman(torch.as_tensor(np.stack([own, after])))[0, 1].numpy()}
    return measured


STABILITY = Benchmark(
    "stability", "Same top under another seed",
    "The fraction of the top k of a query that two training runs with different seeds share.",
    "Does another training seed give the same top k? This is about T; there is no ground truth.",
    "K et al. 2021, Nguyen et al. 2023", _stability, sought="a top k that repeats",
    trainings=lambda sizes, methods: sizes.seeds - 1)
RANDOMISATION = Benchmark(
    "randomisation", "Random weights",
    "Spearman's ρ between the scores and those for a model with random weights.",
    "Does the method depend on the trained weights? Nearer to zero is better; exact leave-one-out retrains and does "
    "not read these weights, so its value is 1.",
    "Adebayo et al. 2018, Hanawa et al. 2021", _randomisation,
    sought="a ranking that reads the trained weights", better="smaller")
