"""Methods that rank training examples by whether they were planted, for the study of poisons.

Of a query: influences of the literature, read off the last layer, and shared evidence. Of the training set alone:
spectral signatures, activation clustering, and cleanlab's self-confidence, which orders as the loss does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor, nn

from engine.analysis.poison import evidence
from engine.basics.options import Options
from engine.models.network import Network
from engine.problems import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.named import NAMED

OF_QUERIES = ("repsim", "repsim_cosine", "gradsim", "gradsim_cosine", "representer", "influence_function_ekfac")
STEP, TRACIN = "gradsim", "tracin"
SPECTRAL, CLUSTERING, CONFIDENCE = "Spectral signature", "Activation clustering", "Self-confidence (cleanlab)"
DAMPING, COMPONENTS, BUDGET = 1e-3, 10, 1 << 28


def rankings(problem: ModuleProblem, checkpoints: Sequence[tuple[nn.Module, float]], options: Options
             ) -> dict[str, np.ndarray]:
    """Title -> scores (m, n), larger where an example is more suspicious, of each query of the problem.

    checkpoints: modules along the training with their learning rates, for TracIn.
    """
    scores = {evidence.TITLE: evidence.evidence(problem, options)[0]}
    last = read_out(problem, problem.network)
    for name in OF_QUERIES:
        scores[NAMED[name].title] = _scored(last, name)
    scores[NAMED[TRACIN].title] = sum((rate * _scored(read_out(problem, Network(module)), STEP)
                                       for module, rate in checkpoints), np.zeros(()))
    features = last.x.double().cpu().numpy()
    labels, p = problem.y.cpu().numpy(), problem.probabilities.double().cpu().numpy()
    alone = {SPECTRAL: spectral(features, labels), CLUSTERING: clustering(features, labels),
             CONFIDENCE: unconfident(labels, p)}
    return scores | {name: np.tile(values, (len(problem.queries), 1)) for name, values in alone.items()}


def read_out(problem: ModuleProblem, network: Network) -> ModuleProblem:
    """The last layer of a network of the problem's kind as a problem of its own, on the features that it reads."""
    head = network.head(problem.queries)

    def read(x: Tensor) -> Tensor:
        return network.features(x)[:, :head.in_features]

    return ModuleProblem(head, read(problem.x), problem.y, read(problem.queries), problem.query_labels)


def _scored(problem: ModuleProblem, name: str) -> np.ndarray:
    """Oriented scores (m, n) of a named method; -inf where there is none."""
    [one] = compute(problem, [NAMED[name].implied(damping=DAMPING)], Options(budget=BUDGET))
    columns = np.full(one.values.shape, -np.inf)
    columns[:, one.candidates] = np.nan_to_num(one.scored, nan=-np.inf)
    return columns


def spectral(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n,): the squared component of features (n, F), centred in their class, along its first right singular vector.

    Tran, Li and Madry, "Spectral Signatures in Backdoor Attacks", 2018.
    """
    scores = np.zeros(len(labels))
    for label in np.unique(labels):
        own = labels == label
        centred = features[own] - features[own].mean(0)
        scores[own] = (centred @ np.linalg.svd(centred, full_matrices=False)[2][0]) ** 2
    return scores


def clustering(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n,): the fraction of its class that is not in an example's cluster, of two by k-means in ten components.

    Chen et al., "Detecting Backdoor Attacks by Activation Clustering", 2018; with principal components.
    """
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    scores = np.zeros(len(labels))
    for label in np.unique(labels):
        own = labels == label
        most = min(COMPONENTS, own.sum(), features.shape[1])
        reduced = PCA(most, random_state=0).fit_transform(features[own])
        cluster = KMeans(2, n_init=10, random_state=0).fit_predict(reduced)
        scores[own] = 1 - np.bincount(cluster, minlength=2)[cluster] / own.sum()
    return scores


def unconfident(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """(n,): 1 − the probability of the label, by the model at hand; cleanlab reads out-of-fold ones where labels are
    searched for noise."""
    from cleanlab.rank import get_self_confidence_for_each_label

    return 1 - get_self_confidence_for_each_label(labels, probabilities)
