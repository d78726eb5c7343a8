r"""What each step of a training does to the behavior at that moment, shared among the examples of its batch, added up.

With U_t(S) = B(θ_t + d_t − c_t Σ_{i ∈ S} ∇ℓ_i/|M_t|) the behavior after a step on S ⊆ M_t alone, z_k's Shapley value in
U_t is to second order in the step

    φ_t(k) = −(c_t/|M_t|) ⟨∇B(q; θ_t) + ∇²B(q; θ_t) (d_t − ½ c_t g_t), ∇ℓ(z_k; θ_t)⟩,     g_t = Σ_{i ∈ M_t} ∇ℓ_i/|M_t|

(Wang et al. 2024, in-run data Shapley; there for plain descent, d_t = 0). Its first order is TracIn over all steps,
with the update that the optimizer itself makes of a gradient. Scores are n Σ_t φ_t(k), the scale of dB/dα. How a step
changes later steps is in neither, so that both answer another question than `replay`: that of every step by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.graphs import flat, pulled_back
from engine.curvature.second_order import twice_differentiable
from engine.estimators.cost import Cost, through_steps
from engine.estimators.estimator import Estimator
from engine.estimators.named import of_run
from engine.exact.replay import (
    STEPS,
    cached_descent,
    cached_run,
    check_replayed,
    run_response,
    training_of,
    weighed,
)
from engine.exact.step_curvature import NOTHING
from engine.exact.step_graph import StepGraph
from engine.gradients.response import Response, signal_of
from engine.gradients.vectorised import along_signal, gradients_of
from engine.models.network import Network
from engine.models.randomness import own_randomness
from engine.problems import ModuleProblem, SoftmaxProblem, by_form
from engine.question.behavior import Behavior
from engine.question.departure import STEPWISE
from engine.question.interventions import Intervention
from engine.question.processes import Replay


def _of_module(problem: ModuleProblem, interventions: Sequence[Intervention], process: Replay, candidates: Tensor,
               options: Options, second: bool = False) -> list[Response]:
    check_replayed(problem, candidates)
    training, responses = training_of(problem, problem.seed), []
    if second:
        training.recipe.rule.affine(problem.theta, training.recipe.rule.fresh(problem.theta), 0.0)
    for intervention in interventions:
        during = weighed(intervention, training.updates, training.per_epoch)
        reads = [partial(_of_run, problem, seed, candidates, during, second, options)
                 for seed in process.runs(problem.seed)]
        responses.append(run_response([_OverSteps(len(candidates), read) for read in reads], candidates,
                                      {STEPS: training.updates}))
    return responses


def _of_softmax(problem: SoftmaxProblem, interventions: Sequence[Intervention], process: Replay, candidates: Tensor,
                options: Options, second: bool = False) -> list[Response]:
    responses = []
    for intervention in interventions:
        during = weighed(intervention, process.steps, 1)
        read = partial(_of_descent, problem, process, candidates, during, second, options)
        responses.append(run_response([_OverSteps(len(candidates), read)], candidates, {STEPS: process.steps}))
    return responses


over_steps = by_form(_of_softmax, _of_module)
"""One response an intervention; second: to second order. Raises `InvalidInput` where the optimizer's steps have no such
order that is known, and as `replay` does."""


@dataclass(frozen=True)
class _OverSteps:
    """A part of a response that each behavior is read off by a pass of its own through the training."""

    count: int
    read: Callable[[Behavior, Tensor], Tensor]

    def scores(self, behavior: Behavior, labels: Tensor) -> Tensor:
        """(m, b)."""
        return self.read(behavior, labels)

    def errors(self, behavior: Behavior, labels: Tensor, enough: Tensor | None = None) -> Tensor:
        """(m, b): 0, as nothing is subtracted."""
        return torch.zeros(len(labels), self.count, dtype=torch.float64, device=labels.device)


def _of_descent(problem: SoftmaxProblem, process: Replay, candidates: Tensor, during: Tensor, second: bool,
                options: Options, behavior: Behavior, labels: Tensor) -> Tensor:
    """In closed form: both sides are products with inputs, K(q, k) ⟨s_B, s_ℓ⟩."""
    run, eta = cached_descent(problem, process, options), process.eta
    totals = problem.x.new_zeros(len(labels), len(candidates))
    for index, weights in run.points.backwards(options.check):
        options.progress(1.0 - index / run.steps)
        if not during[index]:
            continue
        signals, logits = run.read(weights)[1], problem.queries @ weights
        slope = signal_of(behavior, logits, labels)
        if second:
            half = problem.penalty[:, None] * weights + 0.5 * problem.x.T @ signals / problem.n
            slope = slope + _turned(behavior, logits, labels, -eta * problem.queries @ half)
        totals -= eta * slope @ run.signals_of(candidates, weights, signals).T
    return totals * problem.kernel(candidates)


def _turned(behavior: Behavior, logits: Tensor, labels: Tensor, change: Tensor) -> Tensor:
    """∇²B(f) δ of logits f and changes δ (m, C)."""
    leaf = logits.detach().requires_grad_()
    with torch.enable_grad():
        slope = torch.autograd.grad(behavior.value(leaf, labels).sum(), leaf, create_graph=True)[0]
        along = (slope * change).sum() + 0 * leaf.sum()
        return torch.autograd.grad(along, leaf)[0]


def _of_run(problem: ModuleProblem, seed: int, candidates: Tensor, during: Tensor, second: bool, options: Options,
            behavior: Behavior, labels: Tensor) -> Tensor:
    run, network = cached_run(problem, seed, options)
    rule, totals = run.steps.rule, problem.theta.new_zeros(len(labels), problem.n)
    with own_randomness(problem.device):
        for index, (theta, *state) in run.points.backwards(options.check):
            options.progress(1.0 - index / len(run.steps))
            if not during[index]:
                continue
            step = run.steps.all[index]
            graph = StepGraph(run.steps, theta, step)
            along = None
            if second:
                own, drift = rule.affine(theta, tuple(state), step.rate)
                along = drift - 0.5 * own * graph.gradient
            slopes = _slopes(problem, network, theta, behavior, labels, along, options)
            after = slopes, *(torch.zeros_like(slopes) for _ in state)
            pull = rule.back((theta, *state, graph.gradient), after, step.rate, step.count)[-1]
            totals.index_add_(1, step.rows, run.pulled(graph, pull, NOTHING)[1], alpha=problem.n)
    return totals[:, candidates]


def _slopes(problem: ModuleProblem, network: Network, theta: Tensor, behavior: Behavior, labels: Tensor,
            along: Tensor | None, options: Options) -> Tensor:
    """∇B(q; θ) of all queries, (m, P), plus ∇²B(q; θ) v where `along` is v (P,)."""
    if along is None:
        signal = signal_of(behavior, network.predict(problem.queries, theta), labels)
        return gradients_of(network, problem.queries, signal, along_signal, theta, check=options.check)
    leaves = {name: value.detach().clone().requires_grad_() for name, value in network.unflatten(theta).items()}
    with twice_differentiable(), torch.enable_grad():
        values = behavior.value(network.at(problem.queries, leaves), labels)
        one = torch.ones_like(values, requires_grad=True)
        slope = torch.autograd.grad((one * values).sum(), list(leaves.values()), create_graph=True,
                                    materialize_grads=True)
        directions = network.unflatten(along).values()
        change = torch.stack([(own * value).sum() for own, value in zip(slope, directions, strict=True)]).sum()
        read = values + torch.autograd.grad(change, one, create_graph=True)[0]
    return flat(pulled_back([read], list(leaves.values()), [torch.eye(len(labels)).to(read)]))


DEPARTURES = {"infinitesimal": (STEPWISE,), "infinitesimal_during": (STEPWISE,)}

TRACIN_RUN = Estimator(
    "tracin_run", "TracIn over all steps", False,
    "The behavior's gradient at every step times the update that the optimizer makes of the example there: in-run data "
    "Shapley to first order.",
    "Pruthi et al. 2020; Wang et al. 2024, in-run data Shapley", routes={"replay": over_steps},
    needs=("gradients", "training"), departures=DEPARTURES,
    named=(of_run("tracin_run", "TracIn over all steps", "Pruthi et al. 2020"),),
    cost=Cost(through_steps(8), for_each_behavior=True),
)
IN_RUN_SHAPLEY = Estimator(
    "in_run_shapley", "in-run data Shapley", False,
    "The example's Shapley value in what each step does to the behavior, to second order in the step.",
    "Wang et al. 2024, in-run data Shapley", routes={"replay": partial(over_steps, second=True)},
    needs=("gradients", "training"), departures=DEPARTURES,
    named=(of_run("in_run_shapley", "In-run data Shapley", "Wang et al. 2024"),),
    cost=Cost(through_steps(20), for_each_behavior=True), by_hessian=("replay",),
)
