r"""An intervention on a whole set G of training examples at once: the response of every group, a column a group.

    one_step, unrolled   θ − η Σ_{k ∈ G} ∇ℓ(z_k; θ), the examples in one update
    trajectory           such a step from every checkpoint, the effects added up
    reoptimize, retrain  the objective with every example of G changed (`engine.models.altered`)
    local_search         that objective too; with `reoptimize` of a network, from where its factual model stands

What is done to a set is more, or less, than what is done to its examples one by one: the *additivity gap*. A derivative
has none, because it is linear in the weights: its effect of a group is the sum of its examples' effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.exact.local_search import searched_groups
from engine.exact.network_optima import optima_of_groups
from engine.exact.steps import stepped_groups
from engine.gradients.response import LogitTerm, Response
from engine.models.altered import Altered
from engine.problems import Problem, by_form
from engine.question.interventions import Intervention
from engine.question.processes import OneStep, Process, Reoptimize, Retrain, Trajectory, Unrolled

Groups = Sequence[Tensor]
"""Rows (b_j,) of the training set, different ones, a tensor a group."""


def respond(problem: Problem, intervention: Intervention, process: Process, groups: Groups, options: Options
            ) -> Response:
    """What the intervention on each group does to the query logits.

    Raises `InvalidInput` as `check` does.
    """
    check(problem, intervention, process, groups)
    return ROUTES[process.kind](problem, intervention, process, groups, options)


def check(problem: Problem, intervention: Intervention, process: Process, groups: Groups) -> None:
    """Raises `InvalidInput` for a process or an intervention that has no group form, and for groups that are empty,
    name an example twice, or leave nothing."""
    if process.kind not in ROUTES:
        known = " or ".join(f"`{kind}`" for kind in ROUTES)
        raise InvalidInput(f"`{process.kind}` is not computed for a group; use {known}.")
    if intervention.label_free:
        raise InvalidInput(f"`{intervention.kind}` is a step on a single example's readout; use `add_occurrence` for a "
                           "step on a group.")
    if isinstance(process, Reoptimize) and (process.damping and problem.convex):
        raise InvalidInput("Re-optimising softmax regression under a change of a whole group is computed without "
                           "damping; set the damping to 0, or use `local_search`.")
    for rows in groups:
        if not len(rows) or len(rows.unique()) != len(rows):
            raise InvalidInput("A group is empty or names an example twice; give distinct training examples.")
        if int(rows.min()) < 0 or int(rows.max()) >= problem.n:
            raise InvalidInput(f"A group names an example that is not one of the {problem.n:,} training examples.")
        if len(rows) >= problem.n:
            raise InvalidInput(f"The group contains all {problem.n:,} training examples; leave some out of it.")


def altered(problem: Problem, intervention: Intervention, groups: Groups) -> Altered:
    """The training sets under an intervention on each group, behind the one without any: 1 + |groups| of them.

    Raises `InvalidInput` for a relabelling to a class that does not exist.
    """
    change = intervention.change(problem.n)
    weights = torch.ones(1 + len(groups), problem.n, dtype=torch.float64, device=problem.device)
    for own, rows in zip(weights[1:], groups, strict=True):
        own[rows] = change.weight
    if change.label is None:
        return Altered(weights, None, change.normalization)
    problem.check_label(change.label)
    labels = problem.y.repeat(len(weights), 1)
    for own, rows in zip(labels[1:], groups, strict=True):
        own[rows] = change.label
    return Altered(weights, labels, change.normalization)


def _steps(problem: Problem, intervention: Intervention, process: OneStep | Unrolled, groups: Groups, options: Options
           ) -> Response:
    return Response.closed_form(stepped_groups(problem, groups, process.eta, process.steps, problem.theta, options))


def _trajectory(problem: Problem, intervention: Intervention, process: Trajectory, groups: Groups, options: Options
                ) -> Response:
    points = problem.checkpoints_of(process)
    return Response.closed_form(*(
        stepped_groups(problem, groups, eta, 1, point.theta, options.stage(index, len(points)))
        for index, (point, eta) in enumerate(points)))


def _retrained(problem: Problem, intervention: Intervention, process: Retrain, groups: Groups, options: Options
               ) -> Response:
    """From models that are trained side by side with the one without intervention, on the same seeds. A model with one
    optimum ends there whatever the seed."""
    runs = range(1) if problem.convex else process.runs(0)
    altered_sets, terms = altered(problem, intervention, groups), []
    for index, later in enumerate(runs):
        logits = problem.retrained_outputs(altered_sets, options.stage(index, len(runs)), later=later)
        if not logits[0].isfinite().all():
            raise InvalidInput("Training without any intervention diverged; choose a smaller learning rate.")
        terms.append(LogitTerm((logits[1:] - logits[0]).transpose(0, 1), logits[0]))
    return Response.over_runs(*terms)


def _of_one(respond: Callable[..., list[Response]]) -> Callable[..., Response]:
    """What answers several interventions, asked for one."""
    return lambda problem, intervention, *arguments: respond(problem, [intervention], *arguments)[0]


ROUTES: dict[str, Callable[..., Response]] = {
    "one_step": _steps, "unrolled": _steps, "trajectory": _trajectory, "retrain": _retrained,
    "local_search": _of_one(searched_groups), "reoptimize": by_form(_retrained, _of_one(optima_of_groups))}
"""By the kind of process: how a group is answered."""
