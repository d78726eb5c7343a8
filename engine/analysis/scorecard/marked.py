"""Benchmarks that plant a mark in the data and look for it: wrong labels, subclasses, a shortcut, another dataset.

Each trains a model of its own on the marked data. What is sought is known because it was planted: no counterfactual
says that these examples come first, so that even an exact answer may lose.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from engine.analysis.scorecard.benchmark import Benchmark, Case, Measured, Sizes, removal
from engine.analysis.scorecard.method import card_method
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.data.corruption import symmetric_noise
from engine.metrics.detection import auprc
from engine.problems import Problem
from engine.problems.variants import trained_on

MARK = "a mark on the data"
LABELLED = ("classes",)
"""What is marked here has labels and features."""
PATCH = 6
"""Features that a shortcut sets to the largest value of the data."""


def _each(sizes: Sizes, methods: int) -> int:
    return sizes.repeats


def _repeated(case: Case, once: Callable[[Case, int, Options], dict[str, np.ndarray]]) -> dict[str, Measured]:
    """The measures of all repetitions, one behind the other: a value a repetition, or a query in each."""
    repeats = case.sizes.repeats
    repetitions = [once(case, case.sizes.seed + index, case.options.stage(index, repeats)) for index in range(repeats)]
    return {name: {"": np.concatenate([one[name] for one in repetitions])} for name in case.methods}


def _mislabelled(case: Case, seed: int, options: Options) -> dict[str, np.ndarray]:
    """AUROC of self-influence for the wrong labels among the candidates."""
    from sklearn.metrics import roc_auc_score

    problem = case.problem
    y, flags = symmetric_noise(problem.y.cpu().numpy(), problem.classes, case.sizes.flipped, seed)
    noisy = flags.noisy[problem.candidates.cpu().numpy()]
    if not 0 < noisy.sum() < len(noisy):
        raise InvalidInput("No candidate or every candidate has a wrong label; use more candidates or another "
                           "fraction.")
    marked = trained_on(problem, problem.examples._replace(y=problem.y.new_tensor(y)), options.stage(0, 2))
    later, measured = options.stage(1, 2), {}
    for index, name in enumerate(case.methods):
        own = card_method(name).at_itself(marked, case.behavior, later.stage(index, len(case.methods)))
        measured[name] = np.array([roc_auc_score(noisy, own)])
    return measured


def _subclasses(case: Case, seed: int, options: Options) -> dict[str, np.ndarray]:
    """Whether the first example has the query's own class, for a model that was told only half as many classes."""
    problem, rng = case.problem, np.random.default_rng([seed, 3])
    if problem.classes < 4:
        raise InvalidInput("Subclasses need at least four classes, to be merged in pairs.")
    joined, examples = problem.y.new_tensor(rng.permutation(problem.classes) // 2), problem.examples
    marked = trained_on(problem, examples._replace(y=joined[examples.y], query_labels=joined[examples.query_labels]),
                        options.stage(0, 2), classes=int(joined.max()) + 1)
    classes, wanted = problem.y[problem.candidates].cpu().numpy(), problem.query_labels.cpu().numpy()
    return {name: (classes[own.argmax(1)] == wanted).astype(float)
            for name, own in case.scores(marked, options.stage(1, 2)).items()}


def _shortcut(case: Case, seed: int, options: Options) -> dict[str, np.ndarray]:
    """AUPRC of the patched examples, for queries of other classes that carry the patch, asked about its class."""
    problem, rng = case.problem, np.random.default_rng([seed, 4])
    label = int(rng.integers(problem.classes))
    own = (problem.y == label).nonzero()[:, 0].cpu().numpy()
    chosen = problem.y.new_tensor(rng.choice(own, max(1, len(own) // 2), replace=False))
    others = (problem.query_labels != label).nonzero()[:, 0]
    return _detection(case, chosen, others, label, lambda x: _patched(problem, x), options)


def _mixed(case: Case, seed: int, options: Options) -> dict[str, np.ndarray]:
    """AUPRC of examples from another source, all with one label, for queries from there, asked about that label. The
    other source is the data with its features in a fixed random order."""
    problem, rng = case.problem, np.random.default_rng([seed, 5])
    k, label = len(problem.candidates), int(rng.integers(problem.classes))
    order = torch.as_tensor(rng.permutation(problem.x[0].numel()), device=problem.device)
    chosen = problem.candidates[torch.as_tensor(rng.choice(k, max(1, round(case.sizes.planted * k)), replace=False),
                                                device=problem.device)]
    every = torch.arange(len(problem.queries), device=problem.device)
    return _detection(case, chosen, every, label, lambda x: x.flatten(1)[:, order].view_as(x), options)


def _detection(case: Case, rows: Tensor, queries: Tensor, label: int, mark: Callable[[Tensor], Tensor], options: Options
               ) -> dict[str, np.ndarray]:
    """AUPRC (m,) of training examples `rows` among the candidates once `mark` was put on them and on the queries; NaN
    where a marked query is not taken for the label. Raises `InvalidInput` where nothing can be found."""
    problem = case.problem
    flags = torch.isin(problem.candidates, rows).cpu().numpy()
    if not flags.any() or flags.all() or not len(queries):
        raise InvalidInput("No candidate, every candidate, or no query carries the mark; use more candidates and "
                           "queries.")
    x, y = problem.x.clone(), problem.y.clone()
    x[rows], y[rows] = mark(x[rows]), label
    marked = trained_on(problem, problem.examples._replace(
        x=x, y=y, queries=mark(problem.queries[queries]), query_labels=problem.y.new_full((len(queries),), label)),
        options.stage(0, 2))
    fooled = (marked.query_logits.argmax(1) == label).cpu().numpy()
    return {name: np.array([auprc(flags, row) if taken else np.nan for row, taken in zip(own, fooled, strict=True)])
            for name, own in case.scores(marked, options.stage(1, 2)).items()}


def _patched(problem: Problem, x: Tensor) -> Tensor:
    flat = x.flatten(1).clone()
    features = slice(-PATCH - 1, -1) if bool((problem.x.flatten(1)[:, -1] == 1.0).all()) else slice(-PATCH, None)
    flat[:, features] = problem.x.max()
    return flat.view_as(x)


MISLABELLED = Benchmark(
    "mislabelled", "Mislabelled examples",
    "AUROC of self-influence for examples whose label was corrupted before training.",
    "How much influence does a label have on its own example? A wrong label often has the most, but not always.",
    "Koh and Liang 2017, Pruthi et al. 2020", lambda case: _repeated(case, _mislabelled), removal,
    reads=LABELLED, trainings=_each, chance=0.5)
SUBCLASSES = Benchmark(
    "subclasses", "Subclass of the first example",
    "Classes are merged in pairs before training; the fraction of queries whose first example has the query's "
    "original class.",
    "Which example resembles the query within its class? This is similarity; no intervention is defined.",
    "Hanawa et al. 2021", lambda case: _repeated(case, _subclasses), sought="similarity within a class",
    reads=LABELLED, trainings=_each)
SHORTCUT = Benchmark(
    "shortcut", "Shortcut",
    "Half of the examples of one class carry a patch; average precision of these examples for queries of other "
    "classes that carry the patch and are predicted as that class.",
    "Which examples taught the shortcut? It is planted in many examples, so no single one needs to be influential.",
    "Koh and Liang 2017, Bareeva et al. 2024", lambda case: _repeated(case, _shortcut), sought=MARK,
    reads=LABELLED, trainings=_each)
MIXED = Benchmark(
    "mixed", "Mixed datasets",
    "Some examples are from another source and share one label; average precision of these examples for queries from "
    "that source that are predicted as that label.",
    "Which examples come from the query's source? There are many, so no single one needs to be influential.",
    "Hammoudeh and Lowd 2022", lambda case: _repeated(case, _mixed), sought=MARK,
    reads=LABELLED, trainings=_each)
