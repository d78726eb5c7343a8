"""How a behavior moves along the step size, and the tangent at the trained model that stands in for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from engine.applications.lessons.comparing import regression
from engine.gradients.response import signal_of
from engine.problems import Problem
from engine.question.behaviors import BEHAVIORS


def along_eta(problem: Problem, query: int, row: int, etas: np.ndarray) -> pd.DataFrame:
    """One step of each size η on training example `row`: columns eta, curve, tangent.

    curve = B(q; θ_D − η ∇ℓ(z)) − B(q; θ_D); tangent = η times its slope at η = 0. Softmax regression: the step moves
    the query's logits along −η x_qᵀx_z (p − e_y).
    """
    read, rows = BEHAVIORS["query_loss"], torch.tensor([row], device=problem.device)
    label, logits = problem.query_labels[query], problem.query_logits[query]
    direction = -(regression(problem).kernel(rows)[query, 0] * problem.training_signal(rows)[0])
    stepped = logits + torch.as_tensor(etas, dtype=logits.dtype, device=logits.device)[:, None] * direction
    curve = read.value(stepped, label.expand(len(etas))) - read.value(logits[None], label[None])
    slope = float(signal_of(read, logits[None], label[None])[0] @ direction)
    return pd.DataFrame({"eta": etas, "curve": curve.cpu().numpy(), "tangent": slope * np.asarray(etas)})


def gaps(problem: Problem, eta: float) -> torch.Tensor:
    """|curve − tangent| of the query loss at η, of every query and candidate: (m, k)."""
    change = -regression(problem).kernel(problem.candidates)[:, :, None] * problem.training_signal(problem.candidates)
    read = BEHAVIORS["query_loss"]
    curve = read.changed(eta * change, problem.query_logits[:, None], problem.query_labels[:, None])
    signal = signal_of(read, problem.query_logits, problem.query_labels)
    return (curve - eta * torch.einsum("mkc,mc->mk", change, signal)).abs()


def most_curved(problem: Problem, eta: float = 5.0) -> tuple[int, int]:
    """(query, training example) where curve and tangent are farthest apart at η, among candidates."""
    gap = gaps(problem, eta)
    query, candidate = divmod(int(gap.argmax()), gap.shape[1])
    return query, int(problem.candidates[candidate])
