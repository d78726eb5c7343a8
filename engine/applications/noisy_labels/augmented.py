r"""RepSim with the signals that it lacks (paper, Table A-16).

With φ the final representation, c the observed label of z_k and μ_c the mean of φ over the trusted examples of class c:

    cos(φ_k, μ_c) · s̄_B(c)ᵀ M s_ℓ(k),   M = I in logit space, W Wᵀ in representation space

s_ℓ = p − e_c is the training signal, s̄_B(c) the mean behavior signal over the trusted examples of class c, W (C, F) the
weights of the last layer; a signal that is left out is e_c, the readout of the label (`by_readout` of
`engine.estimators.signals`). This reading gives the equalities that the paper's table shows: the target logit's own
signal is e_c, so that adding it changes nothing in logit space.

A low similarity is suspicious, so the augmented score is ranked as one, too. Eq. 6 has a minus before the training
signal: with it, a large augmented similarity is suspicious instead. Both are returned where a training signal enters.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import one_hot

from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, SPACES, Pair, augmented
from engine.applications.noisy_labels.source import TrainedModel
from engine.estimators.signals import by_readout
from engine.gradients.response import signal_of
from engine.question.behaviors import BEHAVIORS
from engine.question.likelihood import slope


def augmented_scores(model: TrainedModel, similarity: np.ndarray) -> dict[Pair, np.ndarray]:
    """Suspicion (n,) of RepSim, the `similarity` (n,), with signals."""
    problem = model.problem
    cosine = torch.from_numpy(similarity).to(model.logits)
    members = one_hot(problem.query_labels, problem.classes).to(cosine)  # (m, C)
    weights = members / members.sum(0).clamp_min(1)
    own = one_hot(problem.y, problem.classes).to(cosine.dtype)  # (n, C)
    training = -slope(model.logits, problem.y)
    head = problem.network.head(problem.queries).weight  # (C, F)
    identity = torch.eye(problem.classes, dtype=cosine.dtype, device=cosine.device)
    behaviors = {title: (weights.T @ signal_of(BEHAVIORS[name], problem.query_logits, problem.query_labels))[problem.y]
                 for name, title in BEHAVIOR_TITLES.items()}  # (n, C) each
    scores = {}
    for space, metric in zip(SPACES, (identity, head @ head.T), strict=True):
        combined = by_readout(cosine, metric, own)
        bare = combined.by(training=training)
        scores[Pair(augmented("train", space))] = -bare
        scores[Pair(augmented("train", space, influence=True))] = bare
        for title, signal in behaviors.items():
            both = combined.by(signal, training)
            scores[Pair(augmented("behavior", space), title)] = -combined.by(signal)
            scores[Pair(augmented("both", space), title)] = -both
            scores[Pair(augmented("both", space, influence=True), title)] = both
    return {pair: values.double().cpu().numpy() for pair, values in scores.items()}
