r"""Similarities to the trusted examples of a label's class, as the authors' code computes them.

With c the observed label of z_k, T_c the trusted examples of class c and φ the final representation:

    RepSim   −cos(φ_k, Σ_{q ∈ T_c} φ_q/‖φ_q‖)                  the centroid is of unit-length representations
    NTK      −cos(s_k ⊗ φ̃_k, mean_{q ∈ T_c} s_q ⊗ φ̃_q)        s = p − e_y, φ̃ = (φ, 1): last-layer loss gradients

Against a mean gradient no single query's length counts, as it does in the mean of the cosines with every query.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from engine.problems.module import ModuleProblem
from engine.question.likelihood import slope


def by_unit_centroid(problem: ModuleProblem) -> Tensor:
    """Suspicion (n,) by the cosine with the centroid of unit-length representations."""
    width = problem.network.head(problem.queries).in_features
    units, queries = (normalize(problem.representations(x)[:, :width]) for x in (problem.x, problem.queries))
    centroids = normalize(_of_classes(problem, queries).T @ queries)
    return -(units * centroids[problem.y]).sum(1)


def by_loss_gradient(problem: ModuleProblem) -> Tensor:
    """Suspicion (n,) by the cosine with the class's mean trusted loss gradient in the last layer; 0 for an example
    without a gradient."""
    features, queries = (problem.network.features(x) for x in (problem.x, problem.queries))
    signals = -slope(problem.network.predict(problem.x), problem.y)
    weights, trusted = _of_classes(problem, queries), -slope(problem.query_logits, problem.query_labels)
    products = signals.new_zeros(problem.n)
    for label in range(problem.classes):
        mean = (trusted * weights[:, label, None]).T @ queries  # (C, F)
        rows = problem.y == label
        products[rows] = ((features[rows] @ mean.T) * signals[rows]).sum(1) / mean.norm().clamp_min(_tiny(mean))
    lengths = signals.norm(dim=1) * features.norm(dim=1)
    return -products / lengths.clamp_min(_tiny(lengths))


def _of_classes(problem: ModuleProblem, like: Tensor) -> Tensor:
    """The weight of each trusted example in the mean of each class, (m, C)."""
    members = one_hot(problem.query_labels, problem.classes).to(like)
    return members / members.sum(0).clamp_min(1)


def _tiny(like: Tensor) -> float:
    return torch.finfo(like.dtype).tiny
