r"""Re-optimisation of softmax regression: the optimum of every intervened objective, and the query logits there.

The optimum of softmax regression with λ > 0 is unique, so `retrain` from scratch ends at the same
point as `reoptimize` from θ_D, whatever the seed, and both are computed here.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.solution import random_columns
from engine.exact.intervened import weight_noise
from engine.exact.local_response import force, linearised
from engine.exact.newton import NewtonWork, Objectives, TrainingData, minimise, self_consistent_start
from engine.exact.objectives import objectives
from engine.exact.polish import polished, remainder
from engine.exact.preconditioner import CandidateTerms, Inverse, block_inverse, dense_inverse
from engine.gradients.response import LAST_DIGITS, LogitTerm, Response
from engine.problems import SoftmaxProblem
from engine.question.change import Change
from engine.question.interventions import Intervention
from engine.question.likelihood import slope
from engine.question.processes import Reoptimize, Retrain

CACHED_BYTES = 256 << 20
SMALLEST_TOLERANCE = 1e-13
SAFETY = 4.0
"""How many times the distance from an optimum may be what it is estimated to be."""
BatchOptima = tuple[Tensor, Tensor, Tensor, Tensor]
"""Of a batch of candidates: change of the query logits (m, b, C), what the search left of it (m, b), converged (b,),
gradient norms (b,)."""


def training_data(problem: SoftmaxProblem, damping: float = 0.0) -> TrainingData:
    """What the Newton solver shares between candidates, with the factual inverse as preconditioner."""

    def build() -> TrainingData:
        if problem.has_dense_hessian:
            solve: Inverse = dense_inverse(problem.cholesky(damping))
        else:
            solve = block_inverse(problem.probabilities, problem.x, problem.penalty + damping)
        return TrainingData(problem.x, problem.x.float(), problem.y, problem.penalty, problem.classes, solve,
                            problem.weights, damping)

    return problem.memo("training_data", build, damping)


def hold_inverse(problem: SoftmaxProblem) -> None:
    """Compute the Hessian and its inverse, where they can be held."""
    if problem.has_dense_hessian:
        training_data(problem)


def batch_size(problem: SoftmaxProblem, budget: int) -> int:
    """How many candidates fit in `budget` bytes beside the training data, the Hessian, its factor and its inverse."""
    p = problem.parameters
    curvature = problem.curvature_bytes or 8 * problem.classes * problem.dimension**2
    shared = curvature + 12 * problem.x.numel()
    one = 8 * problem.n * problem.classes + 4 * p * problem.classes + 120 * p
    one += 16 * len(problem.queries) * problem.classes
    return max(8, min(256, int((budget - shared) / one)))


def optima(problem: SoftmaxProblem, interventions: Sequence[Intervention], process: Reoptimize | Retrain,
           candidates: Tensor, options: Options) -> list[Response]:
    """One response an intervention; the candidates' preconditioner terms are shared between them."""
    data, factual_weights = training_data(problem, process.damping), problem.weights[:, :, None]
    compared = _compared_with(problem, process, options)
    size = batch_size(problem, options.budget)
    gathered: list[list[BatchOptima]] = [[] for _ in interventions]
    total = len(interventions) * len(candidates)
    done, work = 0, [NewtonWork() for _ in interventions]
    for batch in candidates.split(size):
        terms = _candidate_terms(problem, data, batch)
        for index, intervention in enumerate(interventions):
            batch_terms = objectives(problem, intervention, batch)
            origin = factual_weights.expand(-1, -1, len(batch))
            start = self_consistent_start(origin, batch_terms, terms)
            goal = tolerances(problem, intervention.change(problem.n), batch, options.tolerance)
            optima = minimise(data, batch_terms, start, terms, tolerance=goal, check=options.check)
            optima = polished(data, batch_terms, optima, terms)
            moved = _query_logits(problem, optima.weights - compared[:, :, None])
            left = _query_logits(problem, remainder(data, batch_terms, optima, terms)).abs().amax(-1)
            gathered[index].append((moved, SAFETY * left, optima.converged, optima.gradient_norm))
            work[index].add(optima.work)
            done += len(batch)
            options.progress(done / total)
    return [_response(batches, compared, spent, problem, process.damping, options.tolerance)
            for batches, spent in zip(gathered, work, strict=True)]


def _candidate_terms(problem: SoftmaxProblem, data: TrainingData, batch: Tensor) -> CandidateTerms:
    """The batch's preconditioner terms; the last small batch is kept, for the next α of a live page."""

    def build() -> CandidateTerms:
        return CandidateTerms.of(data.solve, problem.units(batch).x.T, problem.unit_probabilities(batch), problem.n)

    if 4 * len(batch) * problem.parameters * problem.classes > CACHED_BYTES:
        return build()
    return problem.memo("candidate_terms", build, (data.damping, problem.outside_content, *batch.tolist()))


def tolerances(problem: SoftmaxProblem, change: Change, rows: Tensor, tolerance: float) -> Tensor:
    """(b,): the tolerance, or a millionth of the force that moves the optimum, where that is smaller.

    A small α moves little, so the same gradient norm would be a larger share of its score.
    """
    added = force(linearised(problem, rows, Options()), change, rows).norm(dim=0)
    return (1e-6 * added).clamp(SMALLEST_TOLERANCE, tolerance)


def _query_logits(problem: SoftmaxProblem, weights: Tensor) -> Tensor:
    """Wᵀq (m, b, C) of W (D, C, b)."""
    d, c, b = weights.shape
    return (problem.queries @ weights.reshape(d, c * b)).view(-1, c, b).transpose(1, 2).contiguous()


def _compared_with(problem: SoftmaxProblem, process: Reoptimize | Retrain, options: Options) -> Tensor:
    """W (D, C) of the model that the optima are compared with."""
    if process.baseline == "factual":
        return problem.weights
    zero = problem.x.new_zeros
    nobody = Objectives(1.0, zero(problem.dimension, 1), zero(1), zero(problem.classes, 1))
    data = training_data(problem, process.damping)
    uniform = zero(1, problem.classes) + 1.0 / problem.classes
    terms = CandidateTerms.of(data.solve, nobody.inputs, uniform, problem.n)
    optimum = minimise(data, nobody, problem.weights[:, :, None].clone(), terms, tolerance=options.tolerance,
                       check=options.check)
    if not optimum.converged.all():
        raise InvalidInput(f"Re-optimising without intervention stopped at gradient norm "
                           f"{optimum.gradient_norm.item():.1e}; use the baseline `factual`, or raise l2.")
    return optimum.weights[..., 0]


def _gradient_noise(problem: SoftmaxProblem, data: TrainingData) -> Tensor:
    """How far an optimum may lie where rounding of its gradient leads it, in the query logits: (m,).

    By random errors of ε(|X|ᵀ|p − e_y|/n + |λ ∘ W|), an entry's, in the gradient at θ_D.
    """
    def build() -> Tensor:
        signal = slope(problem.outputs(problem.x), problem.y).abs()
        size = problem.x.abs().T @ signal / problem.n + problem.penalty[:, None] * problem.weights.abs()
        size = LAST_DIGITS * torch.finfo(size.dtype).eps * size
        moved = data.solve((random_columns(size.numel(), size).view(*size.shape, -1)).float()
                           * (size / size.max())[..., None].float()).double() * size.max()
        return SAFETY * _query_logits(problem, moved).square().mean(1).sqrt().amax(-1)

    return problem.memo("gradient_noise", build, data.damping)


def _response(batches: Sequence[BatchOptima], compared: Tensor, work: NewtonWork, problem: SoftmaxProblem,
              damping: float, tolerance: float) -> Response:
    change, left, converged, norms = (torch.cat(column, dim) for column, dim in zip(zip(*batches, strict=True),
                                                                                    (1, 1, 0, 0), strict=True))
    counted = {"single_passes": work.single_passes, "double_passes": work.double_passes, "rounds": work.rounds,
               "flops": work.flops(problem.n, problem.dimension, problem.classes), "tolerance": tolerance}
    noise = (weight_noise(problem.queries, compared) + _gradient_noise(problem, training_data(problem, damping)))[
        :, None] + left
    term = LogitTerm(change, problem.queries @ compared, noise=noise)
    return Response((term,), converged, norms, counted)
