r"""Exact step responses: z_k is stepped on alone, and every query is evaluated where the parameters end.

    one_step, unrolled   θ^(0) = θ_D,  θ^(t+1) = θ^(t) − η ∇ℓ(z_k; θ^(t))          (paper, Eq. 5)
    trajectory           one such step of size η_t from every checkpoint θ_t, the effects added up
                         (Pruthi et al., 2020; there as first-order terms)
    auxiliary            one step on −f_w(x_k) of the linear readout w, on the frozen representation φ (paper, Eq. 3, 4)

The steps move the parameters on z_k's own loss, without the penalty. In general a candidate costs one pass over the
queries, whatever the number of behaviors. Candidates are taken one by one: a map over their stacked parameters turns
convolutions into grouped ones, which on the CNN of Appendix A-1 took up to twice as long.

For softmax regression a step moves W by −η x_k (p − e_y)ᵀ, so the logits of any query move by −η K(q, k) (p − e_y),
with K(q, k) = x_qᵀx_k: only the candidate's own C logits need stepping.

Both give the change of the query logits itself: `engine.exact.differences` for a network, the kernel for softmax
regression.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.exact.differences import FactualPoint
from engine.exact.passes import loss_and_gradient
from engine.gradients.response import LogitTerm, Response, Term
from engine.problems import ModuleProblem, Problem, SoftmaxProblem, by_form
from engine.question.interventions import Intervention
from engine.question.likelihood import slope
from engine.question.processes import OneStep, Trajectory, Unrolled


def unrolled(problem: Problem, interventions: Sequence[Intervention], process: OneStep | Unrolled, candidates: Tensor,
             options: Options) -> list[Response]:
    """`one_step` and `unrolled`: finite steps on z_k itself, or on the label-free loss −f_w(x_k)."""
    def term(label_free: bool) -> Term:
        """A step on −f_w(x_k), w the query's own readout, raises f_y(q) by η⟨φ(q), φ(x_k)⟩ (paper, Eq. 4)."""
        return problem.raised_by(process.eta * problem.readout_similarity(candidates)) if label_free else stepped(
            problem, candidates, process.eta, process.steps, problem.theta, options)

    return [Response.closed_form(term(intervention.label_free)) for intervention in interventions]


def trajectory(problem: Problem, interventions: Sequence[Intervention], process: Trajectory, candidates: Tensor,
               options: Options) -> list[Response]:
    """`trajectory`: one finite extra step on z_k at every checkpoint, the effects added up."""
    points = problem.checkpoints_of(process)
    terms = [stepped(problem, candidates, eta, 1, point.theta, options.stage(index, len(points)))
             for index, (point, eta) in enumerate(points)]
    return [Response.closed_form(*terms) for _ in interventions]


def _of_module(problem: ModuleProblem, candidates: Tensor, eta: float, steps: int, theta: Tensor, options: Options
               ) -> LogitTerm:
    return _groups_of_module(problem, candidates.split(1), eta, steps, theta, options)


def _groups_of_module(problem: ModuleProblem, groups: Sequence[Tensor], eta: float, steps: int, theta: Tensor,
                      options: Options) -> LogitTerm:
    """By one pass over a group's examples a step, and what `engine.exact.differences` makes of where it ends."""
    origin = _origin(problem, theta)
    change = origin.logits.new_empty(len(origin.logits), len(groups), problem.classes)
    noise = change.new_empty(change.shape[:2])
    for index, rows in enumerate(groups):
        displacement = torch.zeros_like(theta)
        for _ in range(steps):
            options.check()
            at = theta + displacement
            displacement = displacement - eta * loss_and_gradient(problem, at, *problem.units(rows))[1]
        change[:, index], noise[:, index] = origin.change(displacement)
        options.progress((index + 1) / len(groups))
    return LogitTerm(change, origin.logits, noise=noise)


def _origin(problem: ModuleProblem, theta: Tensor) -> FactualPoint:
    """Kept on the problem for θ_D, from where most steps start."""
    if theta is problem.theta:
        return problem.memo("origin", lambda: FactualPoint.at(problem, theta))
    return FactualPoint.at(problem, theta)


def _of_softmax(problem: SoftmaxProblem, candidates: Tensor, eta: float, steps: int, theta: Tensor, options: Options
                ) -> LogitTerm:
    options.check()
    x, y = problem.units(candidates)
    signal = accumulated_signal(problem.outputs(x, theta), y, x.square().sum(1), eta, steps)
    baseline = problem.outputs(problem.queries, theta)
    change = -eta * problem.kernel(candidates)[:, :, None] * signal
    return LogitTerm(change, baseline, noise=problem.kernel_noise(candidates, theta, eta, signal))


def _groups_of_softmax(problem: SoftmaxProblem, groups: Sequence[Tensor], eta: float, steps: int, theta: Tensor,
                       options: Options) -> LogitTerm:
    """The logits of a group move each other: f_G falls by η X_G X_Gᵀ S in a step, S the signals of its examples."""
    baseline, changes = problem.outputs(problem.queries, theta), []
    for rows in groups:
        options.check()
        x, logits = problem.x[rows], problem.outputs(problem.x[rows], theta)
        total, gram = torch.zeros_like(logits), x @ x.T
        for _ in range(steps):
            signal = -slope(logits, problem.y[rows])
            total += signal
            logits = logits - eta * gram @ signal
        changes.append(-eta * problem.kernel(rows) @ total)
    return LogitTerm(torch.stack(changes, 1), baseline)


stepped = by_form(_of_softmax, _of_module)
"""What `steps` steps of size η on each candidate (b,) alone, from θ (P,), do to the query logits: a finite change."""
stepped_groups = by_form(_groups_of_softmax, _groups_of_module)
"""The same with steps on all examples of a group (b,) at once, θ − η Σ_{k ∈ G} ∇ℓ(z_k; θ): a column a group."""


def accumulated_signal(logits: Tensor, labels: Tensor, squared_norms: Tensor, eta: float, steps: int) -> Tensor:
    """Σ_t s_ℓ(z_k; θ^(t)), shape (b, C): the candidate's own logits (b, C) stepped by −η‖x_k‖² s_ℓ each time."""
    f, total = logits.clone(), torch.zeros_like(logits)
    for _ in range(steps):
        signal = -slope(f, labels)
        total += signal
        f -= eta * squared_norms[:, None] * signal
    return total
