r"""How a model of a subset is trained. A benchmark with models on subsets asks another question under each protocol.

A ⊂ D is what a model is trained on, n = |D|, s the seed of the recorded run, M a batch of it. T(A, s) is the training
by the recipe on A and nothing else: the initial weights of seed s, epochs that permute |A| examples, ⌈|A|/b⌉ steps an
epoch.

    weights   θ(A) after the steps of the recorded run, each on (1/|M ∩ A|) Σ_{i ∈ M ∩ A} ℓ(z_i; θ)
              S: B(q; θ(A)) of that very run, counterfactually; one run, its batches and its number of steps given
    subset    θ(A) = T(A, s)
              S: B(q; T(A, s)), what the recipe makes of A with that seed; one run, whose batches A itself decides
    seeds     θ(A_j) = T(A_j, s_j), s_j a seed of its own for each j
              S: E_s[B(q; T(A, s))], what the recipe makes of A in the mean over seeds; each model is one sample of it

A convex objective has one optimum, so that all three give the same model of A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.registry import Registry
from engine.models.altered import Altered
from engine.problems import Problem
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory

ProtocolName = Literal["weights", "subset", "seeds"]
APART = 1_000_000
"""How far the seeds of one set of models lie from those of the next, under `seeds`."""


@dataclass(frozen=True)
class Protocol:
    """name, title; definition: how a model of a subset is trained, with its formula; estimand: the S that it asks for.

    train: (problem, members (J, n) bool, later, first, options) -> f(q) (J, m, C).
    """

    name: ProtocolName
    title: str
    definition: str
    estimand: str
    train: Callable[[Problem, Tensor, int, int, Options], Tensor]


def trained_outputs(problem: Problem, members: Tensor, protocol: str = "weights", later: int = 0, first: int = 0,
                    options: Options | None = None) -> Tensor:
    """f(q) (J, m, C) of models trained on subsets of the training data; not finite where a training diverged.

    members (J, n) bool: what each is trained on. later: how many seeds after the problem's own; under `seeds`, which
    set of seeds. first: the number of the first of these models among those of its draw, which decides its seed there.

    Raises `InvalidInput` for a protocol that is not known, an empty subset, a recipe that is not known, and, but for
    `weights`, for a recorded run, whose batches are those of all of its examples.
    """
    if not bool(members.any(1).all()):
        raise InvalidInput("A subset is empty, so no model can be trained on it; sample larger ones.")
    return PROTOCOLS[protocol].train(problem, members.to(problem.device), later, first, options or Options())


def _in_place(problem: Problem, members: Tensor, later: int, first: int, options: Options) -> Tensor:
    rows = [(~own).nonzero()[:, 0] for own in members]
    return problem.retrained_outputs(Altered.without(rows, problem.n), options, later)


def _alone(problem: Problem, members: Tensor, later: int, first: int, options: Options) -> Tensor:
    return _each(problem, members, [later] * len(members), options)


def _with_own_seeds(problem: Problem, members: Tensor, later: int, first: int, options: Options) -> Tensor:
    start = 1 + later * APART + first
    return _each(problem, members, list(range(start, start + len(members))), options)


def _each(problem: Problem, members: Tensor, later: list[int], options: Options) -> Tensor:
    """Trained on what is a member and on nothing else, one after the other, each so many seeds after the problem's."""
    if problem.convex:
        return _in_place(problem, members, 0, 0, options)
    if problem.replays_batches:
        raise InvalidInput("This run was recorded with batches over all examples, so its recipe does not define "
                           "training on a subset alone; use the protocol `weights`.")
    outputs = []
    for index, (own, after) in enumerate(zip(members, later, strict=True)):
        rows = own.nonzero()[:, 0]
        own_rows = problem.examples._replace(x=problem.x[rows], y=problem.y[rows], candidates=rows.new_zeros(1))
        alone = problem.holding(own_rows, Shared(ProblemMemory(), ProblemMemory()))
        whole = Altered(torch.ones(1, len(rows), dtype=torch.float64, device=rows.device))
        outputs.append(alone.retrained_outputs(whole, options.stage(index, len(members)), after))
    return torch.cat(outputs)


PROTOCOLS: Registry[Protocol] = Registry("protocol", (
        Protocol("weights", "Weight zero in the recorded run",
                 "Each model takes the steps of the recorded run: the same initial weights, batches M and number of "
                 "steps, with weight 0 outside its subset A and the mean over M ∩ A.",
                 "B(q; θ(A)) of that run: its result without the other examples, given its batches.", _in_place),
        Protocol("subset", "Ordinary training on the subset",
                 "Each model is T(A, s): the recipe run on its subset A alone with the recorded run's seed s, the "
                 "same initial weights, other batches, and ⌈|A|/b⌉ steps per epoch for batches of b.",
                 "B(q; T(A, s)), one run: the recipe applied to A with that seed.", _alone),
        Protocol("seeds", "Ordinary training, a seed for each model",
                 "Model j is T(A_j, s_j): the recipe run on its subset A_j alone, with initial weights and batches "
                 "from its own seed s_j.",
                 "E_s[B(q; T(A, s))], the mean over seeds, of which each model is one sample: the recipe applied to "
                 "A, averaged over seeds.", _with_own_seeds)))
