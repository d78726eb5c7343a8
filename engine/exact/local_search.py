r"""Local re-optimisation of a network: L-BFGS from θ_D towards the optimum of every intervened objective.

    F_k(θ) = a · (1/n) Σ_i ℓ(z_i; θ) + Σ_j c_j ℓ(x_k, y_j; θ) + (λ/2)‖θ‖² + (damping/2)‖θ − θ_D‖²

with the a, c_j and y_j of the intervention's `engine.question.change.Change`.

θ are the selected parameters. The objective need not be convex and θ_D need not be an optimum, so what is found is
where a limited number of iterations leads. The damping keeps it near θ_D (paper, Appendix A-1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.lbfgs import Minimum, minimise
from engine.exact.passes import loss_and_gradient, query_logits, training_loss
from engine.exact.reoptimize import reoptimize
from engine.exact.response import Part, Response
from engine.problems import ModuleProblem
from engine.question.change import Change
from engine.question.interventions import Intervention
from engine.question.processes import Reoptimize


@dataclass(frozen=True)
class Settings:
    """When a re-optimisation ends: after `iterations`, or at ‖∇F_k‖ ≤ gradient_tolerance · min(1, ‖force‖).

    The force is what the intervention adds to the gradient at θ_D: a small α moves little, so that the same gradient
    norm would be a larger share of its score. history: pairs that L-BFGS keeps.
    """

    iterations: int = 20
    gradient_tolerance: float = 1e-5
    history: int = 10


DEFAULT = Settings()


@reoptimize.register
def local_search(problem: ModuleProblem, interventions: Sequence[Intervention], process: Reoptimize,
                 candidates: Tensor, options: Options, *, settings: Settings = DEFAULT) -> list[Response]:
    """One response an intervention, compared with θ_D or, for the baseline `reoptimized`, without the drift.

    `converged` says that the iterate and its gradient are finite: the iteration limit is part of the process here,
    and the gradient norm where it ended is in `residual`. Raises `InvalidInput` for a relabelling to a class that
    does not exist.
    """
    for _, label in (term for one in interventions for term in one.change(problem.n).further):
        problem.check_label(label)
    baseline = _baseline(problem, process, options, settings)
    gathered: list[list[tuple[Tensor, Minimum]]] = [[] for _ in interventions]
    total = len(interventions) * len(candidates)
    for number, row in enumerate(candidates.tolist()):
        for place, intervention in enumerate(interventions):
            found = optimum(problem, row, intervention.change(problem.n), process.damping, options, settings)
            gathered[place].append((query_logits(problem, found.theta), found))
            options.progress((number * len(interventions) + place + 1) / total)
    return [_response(column, baseline, settings) for column in gathered]


def optimum(problem: ModuleProblem, row: int, change: Change, damping: float, options: Options,
            settings: Settings = DEFAULT) -> Minimum:
    """Where L-BFGS from θ_D ends on F_k of training example `row` under `change`."""
    theta, factual = problem.theta, _factual(problem, options)
    terms = change.terms(int(problem.y[row]))
    x = problem.x[[row] * len(terms)]
    labels = torch.tensor([label for _, label in terms], dtype=torch.long, device=theta.device)
    weights = torch.tensor([weight for weight, _ in terms], dtype=torch.float64, device=theta.device)

    def completed(at: Tensor, data: tuple[float, Tensor]) -> tuple[float, Tensor]:
        value, gradient = change.scale * data[0], change.scale * data[1]
        if terms:
            own, slope = loss_and_gradient(problem, at, x, labels, weights)
            value, gradient = value + own.item(), gradient + slope
        moved = at - theta
        value += 0.5 * (problem.l2 * at.double().square().sum() + damping * moved.double().square().sum()).item()
        return value, gradient + problem.l2 * at + damping * moved

    initial = completed(theta, factual)
    force = (initial[1] - factual[1] - problem.l2 * theta).norm().item()
    return minimise(lambda at: completed(at, training_loss(problem, at, options)), theta, initial=initial,
                    iterations=settings.iterations, tolerance=settings.gradient_tolerance * min(1.0, force),
                    history=settings.history)


def _factual(problem: ModuleProblem, options: Options) -> tuple[float, Tensor]:
    """The mean training loss and its gradient at θ_D, from which every candidate starts."""
    return problem.memo("factual_training_loss", lambda: training_loss(problem, problem.theta, options))


def _baseline(problem: ModuleProblem, process: Reoptimize, options: Options, settings: Settings) -> Tensor:
    """The query logits (m, C) to compare with; without an intervention there is no force, so all iterations are run."""
    if process.baseline == "factual":
        return problem.memo("factual_query_logits", lambda: query_logits(problem, problem.theta))

    def build() -> Tensor:
        found = optimum(problem, 0, Change(), process.damping, options, settings)
        if not found.finite:
            raise InvalidInput("Re-optimising without intervention left the finite numbers; use the baseline "
                               "`factual`, or a damping.")
        return query_logits(problem, found.theta)

    return problem.memo("reoptimized_query_logits", build, (process.damping, settings))


def _response(column: list[tuple[Tensor, Minimum]], baseline: Tensor, settings: Settings) -> Response:
    logits, minima = zip(*column, strict=True)
    device = baseline.device
    return Response(
        (Part(torch.stack(logits, 1) - baseline[:, None], baseline),),
        torch.tensor([found.finite for found in minima], device=device),
        torch.tensor([found.gradient_norm for found in minima], dtype=torch.float64, device=device),
        {"iterations": max(found.iterations for found in minima),
         "evaluations": max(found.evaluations for found in minima), "tolerance": settings.gradient_tolerance},
    )
