r"""The last digits of a softmax optimum: one more, cheap step towards it, and how far it may still be.

    W ← W − M⁻¹∇F_k(W),   then   W − W* ≈ M⁻¹∇F_k(W),

M the preconditioner of `engine.exact.preconditioner` for the Hessian of F_k. Where only blocks of the factual Hessian
can be inverted, M is too coarse for either: the step is left out, and the distance is solved for by conjugate
gradients.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from engine.exact.newton import Objectives, Optima, TrainingData, centred, evaluate, newton_direction
from engine.exact.preconditioner import CandidateTerms, corrected

FORCING = 0.1
"""The relative error to which conjugate gradients find the distance that is left."""


def polished(data: TrainingData, objectives: Objectives, optima: Optima, terms: CandidateTerms) -> Optima:
    """The same optima after the step, wherever it brought the gradient norm down; costs a float64 pass a candidate."""
    if data.solve.coarse:
        return optima
    weights = centred(data, optima.weights - _preconditioned(data, objectives, optima, terms))
    point = evaluate(data, objectives, weights, torch.float64)
    optima.work.count(torch.float64, len(point.norm))
    better = point.norm < optima.gradient_norm
    return replace(optima, weights=torch.where(better, weights, optima.weights),
                   gradient=torch.where(better, point.gradient, optima.gradient),
                   gradient_norm=torch.where(better, point.norm, optima.gradient_norm))


def remainder(data: TrainingData, objectives: Objectives, optima: Optima, terms: CandidateTerms) -> Tensor:
    """About how far the weights are from the optimum, (D, C, b) float64."""
    if not data.solve.coarse:
        return _preconditioned(data, objectives, optima, terms)
    point, count = evaluate(data, objectives, optima.weights, torch.float64), len(optima.gradient_norm)
    optima.work.count(torch.float64, count)
    return -newton_direction(data, objectives, point, terms, point.norm.new_full((count,), FORCING), optima.work)


def _preconditioned(data: TrainingData, objectives: Objectives, optima: Optima, terms: CandidateTerms) -> Tensor:
    """M⁻¹∇F_k, (D, C, b), by products in float32."""
    own = objectives.candidate_gradient(optima.weights)[2]
    apply = corrected(data.solve, terms, terms.correction(objectives.scale, objectives.mass, own.T))
    length = optima.gradient_norm.clamp_min(torch.finfo(torch.float64).tiny)
    return apply((optima.gradient / length).float()).double() * length
