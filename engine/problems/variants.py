"""The same kind of model on other examples, with another training seed, or with random weights."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import torch

from engine.basics.options import Options
from engine.models.randomness import own_randomness, seed_generators
from engine.models.softmax import Fit
from engine.models.training import train
from engine.problems.causal import CausalProblem
from engine.problems.memory import Memory
from engine.problems.module import ModuleProblem
from engine.problems.problem import Examples, Problem, Shared
from engine.problems.softmax import SoftmaxProblem


@singledispatch
def trained_on(problem: Problem, examples: Examples, options: Options, later: int = 0) -> Problem:
    """The problem whose model is trained on other examples, which are as this one holds them.

    later: how many seeds after the problem's own. Raises `InvalidInput` where it is not known how the model was
    trained, and where the training diverges.
    """
    raise TypeError(f"no training is known for {problem.noun}")


@trained_on.register
def _softmax_on(problem: SoftmaxProblem, examples: Examples, options: Options, later: int = 0) -> SoftmaxProblem:
    """At its one optimum, whatever the seed."""
    return problem.holding(examples, Shared(Memory(), Memory()))


@trained_on.register
def _module_on(problem: ModuleProblem, examples: Examples, options: Options, later: int = 0) -> ModuleProblem:
    """By the problem's own recipe, with its checkpoints."""
    recipe, build = problem.training()
    seed = problem.seed + later
    made = train(build, examples.x, examples.y, recipe, seed, loss=problem.loss, device=problem.device,
                 dtype=problem.network.dtype, check=options.check, progress=options.progress)
    found = _with_module(problem, made.module, examples, seed, **_texts(problem))
    found.keep_checkpoints(made.checkpoints)
    return found


@singledispatch
def with_random_weights(problem: Problem, seed: int) -> Problem:
    """The problem with a model that was never trained, its weights drawn with a seed."""
    raise TypeError(f"no random weights are known for {problem.noun}")


@with_random_weights.register
def _random_softmax(problem: SoftmaxProblem, seed: int) -> SoftmaxProblem:
    """Normal weights of the spread of the trained ones, which add to zero over classes as they do."""
    trained = problem.weights
    drawn = torch.randn(trained.shape, generator=torch.Generator().manual_seed(seed), dtype=trained.dtype)
    weights = drawn.to(trained.device) * trained.std()
    weights -= weights.mean(1, keepdim=True)
    memory = Memory()
    memory.memo("fit", lambda: Fit(weights, float("nan"), 0, 0))
    return problem.holding(problem.examples, Shared(memory, Memory()))


@with_random_weights.register
def _random_module(problem: ModuleProblem, seed: int) -> ModuleProblem:
    """The initial weights of a training with that seed; checkpoints are all there, with the rates of the problem's, and
    an optimizer that has seen nothing."""
    recipe, build = problem.training()
    with own_randomness(problem.device):
        seed_generators(problem.device, seed)
        module = build().to(device=problem.device, dtype=problem.network.dtype)
    recipe.free(module)
    found = _with_module(problem, module, problem.examples, problem.seed, **_texts(problem))
    state = module.state_dict() | recipe.no_moments(module.named_parameters())
    found.keep_checkpoints([(state, point.learning_rate) for point in problem.checkpoints])
    return found


@singledispatch
def _texts(problem: ModuleProblem) -> dict[str, Any]:
    """What else a problem is made with."""
    return {}


@_texts.register
def _of_records(problem: CausalProblem) -> dict[str, Any]:
    return {"texts": problem.texts}


def _with_module(problem: ModuleProblem, module: torch.nn.Module, examples: Examples, seed: int, **more: Any
                 ) -> ModuleProblem:
    return type(problem)(module, *examples, parameters=problem.network.selection, loss=problem.loss, l2=problem.l2,
                         recipe=problem.recipe, build=problem.build, seed=seed, device=str(problem.device),
                         dtype=problem.precision, **more)
