r"""KNN-Shapley: Data Shapley values of a K-nearest-neighbour classifier, closed form (Jia et al. 2019, Theorem 1).

The value of a set S of training examples for one query (x, y) is the fraction of its K nearest members with the label
y, v(S) = 1/K Σ_{k ≤ min(K, |S|)} 1[y_(k) = y]. With the n training examples sorted by distance, nearest first,

    s_n = 1[y_n = y] · min(K, n) / (nK),
    s_i = s_{i+1} + (1[y_i = y] − 1[y_{i+1} = y]) · min(K, i) / (iK).

The utility is that of another classifier than the model at hand, so that no specification is implied: distances are
between inputs, or between the representations that the last layer of the model reads. O(m n log n).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from engine.basics.options import Options
from engine.basics.settings import FREE, Settings, setting
from engine.basics.values import Count
from engine.estimators.cost import NOTHING, Cost, Passes
from engine.estimators.estimator import Estimator, closed_form
from engine.estimators.named import baseline
from engine.gradients.response import Given, Term
from engine.problems import Problem
from engine.question.processes import OneStep

NEIGHBOURS = 10
BLOCK = 256


class KnnSettings(Settings):
    """Settings of KNN-Shapley."""

    neighbours: Count = setting(NEIGHBOURS, "K, the neighbours that vote.", "this program", FREE, ge=1, le=100_000)


def shapley_values(features: np.ndarray, labels: np.ndarray, queries: np.ndarray, query_labels: np.ndarray,
                   neighbours: int = NEIGHBOURS) -> np.ndarray:
    """Shapley value (m, n) of each training example for each query, by Euclidean distance. features (n, d), labels
    (n,); queries (m, d), query_labels (m,)."""
    features, queries = (np.asarray(one, dtype=np.float64) for one in (features, queries))
    n, squares, values = len(labels), (features ** 2).sum(1), np.empty((len(queries), len(labels)))
    position = np.arange(1, n + 1)
    step = np.minimum(neighbours, position) / (position * neighbours)
    for start in range(0, len(queries), BLOCK):
        block, wanted = queries[start:start + BLOCK], query_labels[start:start + BLOCK]
        order = np.argsort(squares - 2 * block @ features.T, axis=1, kind="stable")
        hits = (labels[order] == wanted[:, None]).astype(np.float64)
        terms = np.diff(hits, axis=1, append=0.0) * -step  # telescopes from the farthest to the nearest
        np.put_along_axis(values[start:start + BLOCK], order, np.cumsum(terms[:, ::-1], axis=1)[:, ::-1], axis=1)
    return values


def of_representations(problem: Problem, process: OneStep, candidates: Tensor, options: Options, *,
                       neighbours: int = NEIGHBOURS) -> list[Term]:
    """Distances between what the model's last layer reads."""
    return _valued(problem, candidates, problem.representations, neighbours)


def of_inputs(problem: Problem, process: OneStep, candidates: Tensor, options: Options, *,
              neighbours: int = NEIGHBOURS) -> list[Term]:
    """Distances between inputs as the model reads them."""
    return _valued(problem, candidates, lambda x: x.flatten(1), neighbours)


def _valued(problem: Problem, candidates: Tensor, read: Callable[[Tensor], Tensor], neighbours: int) -> list[Term]:
    """Of candidates (b,), whose values are those among all training examples."""
    problem.check_trained(candidates, "KNN-Shapley, which values training examples, asks")
    features, queries = (read(x).double().cpu().numpy() for x in (problem.x, problem.queries))
    labels, wanted = (y.cpu().numpy() for y in (problem.y, problem.query_labels))
    values = shapley_values(features, labels, queries, wanted, neighbours)
    return [Given(torch.from_numpy(values[:, candidates.cpu().numpy()]).to(problem.device))]


KNN_SHAPLEY = Estimator(
    "knn_shapley", "KNN-Shapley, representations", False,
    "What an example adds to a nearest-neighbour classifier on the model's representations.", "Jia et al. 2019",
    routes={"one_step": closed_form(of_representations)}, needs=("labels", "features"),
    implies=False, proper=True, settings=KnnSettings, cost=Cost(lambda work: Passes(work.n + work.queries, 2.0)),
    named=(baseline("knn_shapley", "KNN-Shapley (representations)", "Jia et al. 2019", label="KNN-Shapley"),))
KNN_SHAPLEY_INPUTS = Estimator(
    "knn_shapley_inputs", "KNN-Shapley, inputs", False,
    "What an example adds to a nearest-neighbour classifier on the inputs; the model is not read.", "Jia et al. 2019",
    routes={"one_step": closed_form(of_inputs)}, needs=("labels",), implies=False, proper=True,
    settings=KnnSettings, cost=NOTHING,
    named=(baseline("knn_shapley_inputs", "KNN-Shapley (inputs)", "Jia et al. 2019", label="KNN-Shapley"),))
