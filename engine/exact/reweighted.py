r"""Real trainings in which one example's weight is another one: what `replay` is the derivative of.

    B(w_k = 1 + ε) − B(w_k = 1),     L_D with w_k in place of 1, the mean over n as it was

A network repeats its recipe from the initial weights of its seed. Softmax regression descends from zero as `Replay`
says, many models at once:

    W ← W − η (Xᵀ(w ∘ s_ℓ)/n + λ ∘ W),     W (D, C, r), a column a model

What rounding does to that is measured at w = 1, by two orders of summation.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.exact.differences import SAFETY
from engine.exact.differentiated_descent import DifferentiatedDescent
from engine.exact.retrain import retrain
from engine.gradients.response import LogitTerm, Response
from engine.problems import ModuleProblem, SoftmaxProblem, by_form
from engine.question.interventions import Intervention, Remove, Upweight
from engine.question.likelihood import slope
from engine.question.processes import Replay, Retrain

LEAVING_OUT = -1.0


def _of_module(problem: ModuleProblem, epsilons: Sequence[float], process: Replay, candidates: Tensor,
               options: Options) -> list[Response]:
    changes = [_weighted(epsilon, problem.n) for epsilon in epsilons]
    return retrain(problem, changes, Retrain().with_runs_of(process), candidates, options)


def _weighted(epsilon: float, n: int) -> Intervention:
    """w_k = 1 + ε."""
    return Remove(normalization="n") if epsilon == LEAVING_OUT else Upweight(alpha=epsilon / n)


def _of_softmax(problem: SoftmaxProblem, epsilons: Sequence[float], process: Replay, candidates: Tensor,
                options: Options) -> list[Response]:
    rows = candidates.repeat(len(epsilons))
    weights = 1.0 + torch.tensor(list(epsilons), dtype=torch.float64, device=rows.device)
    weights = weights.repeat_interleave(len(candidates))
    width = max(1, options.budget // 32 // (8 * problem.n * problem.classes))
    chunks = list(zip(rows.split(width), weights.split(width), strict=True))
    end = DifferentiatedDescent(problem, process.eta, process.steps, options).end
    alone = problem.outputs(problem.queries, end.flatten())
    logits, noise = [], torch.zeros_like(alone[:, 0])
    for index, (some, given) in enumerate(chunks):
        ends = _descended(problem, process, torch.cat([some, some[:1]]), torch.cat([given, given.new_ones(1)]),
                          options.stage(index, len(chunks)))
        logits.append(ends[:, :-1] - ends[:, -1:])
        noise = torch.maximum(noise, (ends[:, -1] - alone).abs().amax(1))
    noise = SAFETY * noise.clamp_min(torch.finfo(alone.dtype).eps * alone.abs().amax(1))
    changes = torch.cat(logits, 1).split(len(candidates), 1)
    return [Response((LogitTerm(change, alone, noise=noise[:, None].expand(change.shape[:2])),),
                     change.isfinite().all(-1).all(0), noise.new_zeros(len(candidates))) for change in changes]


reweighted = by_form(_of_softmax, _of_module)
"""One response an ε, for training examples `candidates` (b,); `converged` is False where a training diverged."""


def _descended(problem: SoftmaxProblem, process: Replay, rows: Tensor, weights: Tensor, options: Options) -> Tensor:
    """Query logits (m, r, C) at the ends of r descents, in which example rows[j] counts weights[j] times."""
    x, r = problem.x, torch.arange(len(rows), device=rows.device)
    labels = problem.y[:, None].expand(-1, len(rows))
    models = x.new_zeros(problem.dimension, problem.classes, len(rows))
    for step in range(process.steps):
        options.check()
        logits = (x @ models.flatten(1)).view(problem.n, problem.classes, -1)
        signal = -slope(logits.mT, labels).mT
        signal[rows, :, r] *= weights[:, None]
        pulled = (x.T @ signal.flatten(1)).view_as(models) / problem.n
        models = models - process.eta * (pulled + problem.penalty[:, None, None] * models)
        options.progress((step + 1) / process.steps)
    return (problem.queries @ models.flatten(1)).view(-1, problem.classes, len(rows)).transpose(1, 2)
