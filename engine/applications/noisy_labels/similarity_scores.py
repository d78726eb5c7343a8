r"""RepSim, the last layer's tangent kernel, and RepSim with the signals that it lacks (paper, Table A-16).

With φ the final representation, c the observed label of z_k and μ_c the mean of φ over the trusted examples of class c:

    RepSim      cos(φ_k, μ_c)
    NTK         ⟨φ̃_k, μ̃_c⟩,   φ̃ the representation with a 1 for the bias
    augmented   cos(φ_k, μ_c) · s̄_B(c)ᵀ M s_ℓ(k),   M = I in logit space, W Wᵀ in representation space

s_ℓ = p − e_c is the training signal, s̄_B(c) the mean behavior signal over the trusted examples of class c, W (C, F) the
weights of the last layer; a signal that is left out is e_c, the readout of the label (`by_readout` of
`engine.estimators.signals`). This reading gives the equalities that the paper's table shows: the target logit's own
signal is e_c, so that adding it changes nothing in logit space.

A low similarity is suspicious, so the augmented score is ranked as one, too. Eq. 6 has a minus before the training
signal: with it, a large augmented similarity is suspicious instead. Both are returned where a training signal enters.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, one_hot

from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, METHODS, SPACES, Pair, augmented
from engine.applications.noisy_labels.source import TrainedModel
from engine.basics.options import Options
from engine.estimators.signals import by_readout
from engine.gradients.response import signal_of
from engine.question.behaviors import BEHAVIORS
from engine.question.likelihood import slope

NAMES = ("repsim", "ntk", "augmented")


def score(model: TrainedModel, wanted: Collection[str], options: Options) -> dict[Pair, np.ndarray]:
    """Suspicion (n,) of the wanted methods among `NAMES`."""
    if not set(NAMES) & set(wanted):
        return {}
    problem = model.problem
    features, trusted = problem.network.features(problem.x), problem.network.features(problem.queries)
    labels, classes = problem.y, problem.classes
    members = one_hot(problem.query_labels, classes).to(trusted.dtype)  # (m, C)
    weights = members / members.sum(0).clamp_min(1)
    centroids = weights.T @ trusted  # (C, F)
    width = problem.network.head(problem.queries).in_features
    cosine = cosine_similarity(features[:, :width], centroids[labels, :width], dim=1)
    options.check()
    found = {}
    if "repsim" in wanted:
        found[Pair(METHODS["repsim"].title)] = -cosine
    if "ntk" in wanted:
        found[Pair(METHODS["ntk"].title)] = -(features * centroids[labels]).sum(1)
    if "augmented" in wanted:
        found |= _augmented(model, cosine, weights)
    return {pair: values.double().cpu().numpy() for pair, values in found.items()}


def _augmented(model: TrainedModel, cosine: Tensor, weights: Tensor) -> dict[Pair, Tensor]:
    problem = model.problem
    own = one_hot(problem.y, problem.classes).to(cosine.dtype)  # (n, C)
    training = -slope(model.logits, problem.y)
    head = problem.network.head(problem.queries).weight  # (C, F)
    identity = torch.eye(problem.classes, dtype=cosine.dtype, device=cosine.device)
    behaviors = {title: (weights.T @ signal_of(BEHAVIORS[name], problem.query_logits, problem.query_labels))[problem.y]
                 for name, title in BEHAVIOR_TITLES.items()}  # (n, C) each
    found = {}
    for space, metric in zip(SPACES, (identity, head @ head.T), strict=True):
        similarity = by_readout(cosine, metric, own)
        bare = similarity.by(training=training)
        found[Pair(augmented("train", space))] = -bare
        found[Pair(augmented("train", space, influence=True))] = bare
        for title, signal in behaviors.items():
            both = similarity.by(signal, training)
            found[Pair(augmented("behavior", space), title)] = -similarity.by(signal)
            found[Pair(augmented("both", space), title)] = -both
            found[Pair(augmented("both", space, influence=True), title)] = both
    return found
