"""The same kind of model on other examples, with another training seed, or with random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch import nn

from engine.basics.options import Options
from engine.models.randomness import own_randomness, seed_generators
from engine.models.softmax import Fit
from engine.models.training import train
from engine.problems.candidates import Examples, Shared
from engine.problems.forms import by_form
from engine.problems.memory import ProblemMemory
from engine.problems.module import ModuleProblem
from engine.problems.softmax import SoftmaxProblem


def _softmax_on(problem: SoftmaxProblem, examples: Examples, options: Options, later: int = 0,
                classes: int | None = None) -> SoftmaxProblem:
    """At its one optimum, whatever the seed."""
    return SoftmaxProblem(*examples, l2=problem.l2, intercept=problem.intercept, classes=classes or problem.classes,
                          device=str(problem.device), shared=Shared(ProblemMemory(), ProblemMemory()))


def _module_on(problem: ModuleProblem, examples: Examples, options: Options, later: int = 0,
               classes: int | None = None) -> ModuleProblem:
    """By the problem's own recipe, with its checkpoints."""
    recipe, build = problem.training()
    if classes not in (None, problem.classes):
        build = partial(_with_outputs, build, problem.head, classes)
    seed = problem.seed + later
    training = train(build, examples.x, examples.y, recipe, seed, loss=problem.loss, device=problem.device,
                     dtype=problem.network.dtype, check=options.check, progress=options.progress)
    problem_there = problem.with_module(training.module, examples, seed=seed, build=build)
    problem_there.keep_checkpoints(training.checkpoints)
    return problem_there


def _with_outputs(build: Callable[[], nn.Module], head: str, classes: int) -> nn.Module:
    """A fresh module whose layer `head` has so many outputs, with initial weights of its own."""
    module = build()
    before = cast(nn.Linear, module.get_submodule(head))
    fresh = nn.Linear(before.in_features, classes, bias=before.bias is not None, dtype=before.weight.dtype)
    if not head:
        return fresh
    parent, _, name = head.rpartition(".")
    setattr(module.get_submodule(parent), name, fresh)
    return module


def _random_softmax(problem: SoftmaxProblem, seed: int) -> SoftmaxProblem:
    """Normal weights of the spread of the trained ones, which add to zero over classes as they do."""
    trained = problem.weights
    random = torch.randn(trained.shape, generator=torch.Generator().manual_seed(seed), dtype=trained.dtype)
    weights = random.to(trained.device) * trained.std()
    weights -= weights.mean(1, keepdim=True)
    memory = ProblemMemory()
    memory.memo("fit", lambda: Fit(weights, float("nan"), 0, 0))
    return problem.holding(problem.examples, Shared(memory, ProblemMemory()))


def _random_module(problem: ModuleProblem, seed: int) -> ModuleProblem:
    """The initial weights of a training with that seed; checkpoints are all there, with the rates of the problem's, and
    an optimizer that has seen nothing."""
    recipe, build = problem.training()
    with own_randomness(problem.device):
        seed_generators(problem.device, seed)
        module = build().to(device=problem.device, dtype=problem.network.dtype)
    recipe.free(module)
    untrained = problem.with_module(module, problem.examples)
    state = module.state_dict() | recipe.no_moments(module.named_parameters())
    untrained.keep_checkpoints([(state, point.learning_rate) for point in problem.checkpoints])
    return untrained


trained_on = by_form(_softmax_on, _module_on)
"""The problem whose model is trained on other examples, which are as this one holds them.

later: how many seeds after the problem's own. classes: how many outputs it has, by default as many as this one's.
Raises `InvalidInput` where it is not known how the model was trained, where the training diverges, and where a model
whose logits come from no linear layer is asked for another number of classes."""
with_random_weights = by_form(_random_softmax, _random_module)
"""The problem with a model that was never trained, its weights drawn with a seed."""
