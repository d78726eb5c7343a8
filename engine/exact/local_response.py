r"""Linear responses of the optimum: δθ = −(H + damping·I)⁻¹ g_k, and what they do to a behavior (paper, Eq. 8 and 9).

g_k is what the intervention adds to the gradient of the objective at θ_D. With F_k as in `engine.question.change`,

    g_k = (a − 1) ∇L_data(θ_D) + c ∇ℓ((x_k, y_k); θ_D) + Σ_j c_j ∇ℓ((x_k, y_j); θ_D)

With an exact solver this is the exact `local_response`; with any other, or used for a finite upweighting, removal or
relabelling, it is the inverse-Hessian approximation (Koh and Liang, 2017).

θ_D need not be a stationary point: the drift that re-optimising would cause without any intervention,
−H⁻¹∇L_D(θ_D), is common to all candidates and is left out, so that a response is that of the intervention alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.cholesky import CHOLESKY
from engine.curvature.dense import DENSE, LIMIT
from engine.curvature.shifts import times
from engine.curvature.solution import InverseHessian, Rounding
from engine.gradients.per_example import loss_gradients
from engine.gradients.products import products_with, query_norms
from engine.gradients.response import LAST_DIGITS, GradientTerm, LogitTerm, Response
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.change import Change
from engine.question.interventions import Intervention
from engine.question.likelihood import slope_at
from engine.question.processes import LocalResponse, LocalSearch, Reoptimize, Retrain

FACTORISATIONS = (CHOLESKY, DENSE)
SAFETY = 8.0
"""How many times what is found that rounding did to a solution may be more."""
ROUNDED = 64.0
"""Units of rounding that a gradient of a network, taken as a vector, may be off by."""
COLUMN_BYTES = 512 << 20
"""Right-hand sides that are held at once, where their solutions need not be kept."""


def linear_responses(solver: InverseHessian, problem: Problem, interventions: Sequence[Intervention],
                     process: LocalResponse | Reoptimize | LocalSearch | Retrain,
                     candidates: Tensor, options: Options) -> list[Response]:
    """One linear response an intervention; a solve is shared by all behaviors, and by upweighting at any α."""
    linear, count = linearised(problem, candidates, options), len(interventions)
    solved: dict[tuple, Solved] = {}
    responses = []
    for index, intervention in enumerate(interventions):
        change = intervention.change(problem.n)
        unit = change.unit
        key = unit.scale, unit.own, unit.further
        if key not in solved:
            solved[key] = _solved(solver, problem, linear, unit, process.damping, options.stage(index, count))
        solution = solved[key]
        term = linear.term(solution.changes, change.size, solution.rounding)
        responses.append(Response((term,), solution.converged, solution.residual, dict(solution.info)))
        options.progress((index + 1) / count)
    return responses


def local_response(problem: Problem, interventions: Sequence[Intervention], process: LocalResponse, candidates: Tensor,
                   options: Options) -> list[Response]:
    """`local_response` itself: by a factorisation, right to rounding, or in float64 to a tight relative residual."""
    solver = next(solver for solver in FACTORISATIONS if solver.fits(problem))
    held = problem.double() if solver is DENSE and problem.parameters > LIMIT else problem
    return linear_responses(solver, held, interventions, process, candidates, options)


@dataclass(frozen=True)
class Solved:
    """What the solutions do to the model, a tensor a batch of candidates, and what rounding did to that, where they are
    exact; converged, residual (b,); the solver's info."""

    changes: Sequence[Tensor]
    rounding: Sequence[Tensor]
    converged: Tensor
    residual: Tensor
    info: dict[str, float]


class Linearised(Protocol):
    """A problem at θ_D, as linear responses of `candidates` need it. batches: of them, solved one after another."""

    batches: tuple[Tensor, ...]

    def gradients(self, rows: Tensor, label: int | None = None) -> Tensor:
        """∇ℓ((x_k, y); θ_D) of examples (b,), y their own label or another: (P, b)."""

    @property
    def data_gradient(self) -> Tensor:
        """∇L_data(θ_D), (P,), without the regulariser."""

    def moved(self, x: Tensor) -> Tensor:
        """What is kept of the solutions x (P, b) = (H + damping·I)⁻¹ g."""

    def off(self, rounding: Rounding) -> Tensor:
        """What is kept of what rounding did to x: (m, b) of the query logits, or (b,) of x itself."""

    def term(self, changes: Sequence[Tensor], size: float, rounding: Sequence[Tensor]) -> LogitTerm | GradientTerm:
        """The first-order change along −size·x, from what `moved` and `off` kept of all batches."""


def force(linear: Linearised, change: Change, rows: Tensor) -> Tensor:
    """g_k of examples (b,): (P, b)."""
    own = linear.gradients(rows)
    gradients = own if change.own == 1 else change.own * own
    for weight, label in change.further:
        gradients = gradients + weight * linear.gradients(rows, label)
    return gradients if change.scale == 1 else gradients + (change.scale - 1) * linear.data_gradient[:, None]


def _solved(solver: InverseHessian, problem: Problem, linear: Linearised, change: Change, damping: float,
            options: Options) -> Solved:
    changes, rounding, converged, residuals = [], [], [], []
    info: dict[str, float] = {}
    for index, rows in enumerate(linear.batches):
        options.check()
        operator = solver.operator(problem, damping, options.stage(index, len(linear.batches)))
        solution = solver.solve(operator, force(linear, change, rows))
        changes.append(linear.moved(solution.x))
        if solution.rounding is not None:
            rounding.append(linear.off(solution.rounding))
        converged.append(solution.converged)
        residuals.append(solution.residual)
        info = {key: max(info.get(key, value), value) for key, value in solution.summary.items()}
    return Solved(changes, rounding, torch.cat(converged), torch.cat(residuals), info)


class _Softmax:
    """Closed forms: ∇ℓ(z_k) = x_k ⊗ (p − e_y), and the query logits move by xᵀq. At the optimum ∇L_data = −λ∘θ_D."""

    def __init__(self, problem: SoftmaxProblem, candidates: Tensor, options: Options) -> None:
        self.problem = problem
        self.batches = candidates.split(max(1, min(COLUMN_BYTES, options.budget // 8) // (8 * problem.parameters)))

    def gradients(self, rows: Tensor, label: int | None = None) -> Tensor:
        problem = self.problem
        x, labels = problem.units(rows)
        if label is not None:
            problem.check_label(label)
            labels = torch.full_like(labels, label)
        signal = -slope_at(problem.unit_probabilities(rows), labels)
        return (x.T[:, None] * signal.T).reshape(problem.parameters, len(rows))

    @property
    def data_gradient(self) -> Tensor:
        return -(self.problem.penalty[:, None] * self.problem.weights).flatten()

    def moved(self, x: Tensor) -> Tensor:
        """The change of the query logits, (m, b, C)."""
        d, c = self.problem.dimension, self.problem.classes
        return -(self.problem.queries @ x.reshape(d, -1)).view(-1, c, x.shape[1]).transpose(1, 2)

    def off(self, rounding: Rounding) -> Tensor:
        left = self.moved(rounding.left).abs().amax(-1)
        return SAFETY * (left + self.moved(rounding.probes).square().mean(1).sqrt().amax(-1)[:, None] * rounding.sizes)

    def term(self, changes: Sequence[Tensor], size: float, rounding: Sequence[Tensor]) -> LogitTerm:
        change, noise = torch.cat(list(changes), 1) * size, None
        if rounding:
            own = torch.cat([self.problem.outputs(self.problem.units(rows).x).abs().amax(1) for rows in self.batches])
            digits = LAST_DIGITS * torch.finfo(change.dtype).eps
            noise = abs(size) * torch.cat(list(rounding), 1) + 2.0 * digits * own * change.abs().amax(-1)
        return LogitTerm(change, self.problem.query_logits, linear=True, noise=noise)


class _Module:
    """Gradients by automatic differentiation, of all candidates at once, kept for every intervention."""

    def __init__(self, problem: ModuleProblem, candidates: Tensor, options: Options) -> None:
        self.problem, self.budget = problem, options.budget // 4
        self.batches: tuple[Tensor, ...] = (candidates,)

    def gradients(self, rows: Tensor, label: int | None = None) -> Tensor:
        if label is None:
            return self._own
        self.problem.check_label(label)
        return loss_gradients(self.problem.with_labels(rows, label), rows).T

    @cached_property
    def _own(self) -> Tensor:
        return loss_gradients(self.problem, self.batches[0], budget=self.budget).T

    @property
    def data_gradient(self) -> Tensor:
        return self.problem.factual[1] - times(self.problem.l2, self.problem.theta)

    def moved(self, x: Tensor) -> Tensor:
        """The directions themselves, (b, P)."""
        return x.T.contiguous()

    def off(self, rounding: Rounding) -> Tensor:
        return SAFETY * (rounding.left.norm(dim=0) + rounding.probes.norm(dim=0).square().mean().sqrt()
                         * rounding.sizes)

    def term(self, changes: Sequence[Tensor], size: float, rounding: Sequence[Tensor]) -> GradientTerm:
        problem, (directions,) = self.problem, changes

        def products(signal: Tensor) -> Tensor:
            return -size * products_with(problem, problem.queries, signal, directions)

        def bound(signal: Tensor) -> Tensor:
            """‖J_qᵀ s_B‖ times what x may be off by, and what rounding takes of gradients and products."""
            lengths = query_norms(problem, problem.queries, signal)
            off = torch.cat(list(rounding)) + ROUNDED * torch.finfo(directions.dtype).eps * directions.norm(dim=1)
            return abs(size) * lengths[:, None] * off

        return GradientTerm(problem.query_logits, products, len(directions), bound if rounding else None)


linearised: Callable[[Problem, Tensor, Options], Linearised] = by_form(_Softmax, _Module)
"""A problem as its linear responses to interventions on candidates (b,) need it."""
