"""When an example's weight matters in a training: dB/dα split among the epochs, or among stretches of a descent."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.exact.replay import cached_descent, cached_run, training_of
from engine.gradients.response import signal_of
from engine.gradients.vectorised import along_signal, gradients_of
from engine.problems import ModuleProblem, SoftmaxProblem, by_form
from engine.question.behavior import Behavior
from engine.question.processes import Replay

STRETCHES = 50
"""Of a descent at most."""


def _of_module(problem: ModuleProblem, process: Replay, behavior: Behavior, options: Options
               ) -> tuple[list[range], Tensor]:
    seed = process.run(problem.seed)
    training = training_of(problem, seed)
    stretches = _stretches(training.updates, training.updates // training.per_epoch)
    run, network = cached_run(problem, seed, options)
    signal = signal_of(behavior, network.predict(problem.queries), problem.query_labels)
    slope = gradients_of(network, problem.queries, signal, along_signal, check=options.check).mean(0, keepdim=True)
    return stretches, run.adjoint(slope, options, _marks(stretches, training.updates))[0]


def _of_softmax(problem: SoftmaxProblem, process: Replay, behavior: Behavior, options: Options
                ) -> tuple[list[range], Tensor]:
    stretches, run = _stretches(process.steps, min(STRETCHES, process.steps)), cached_descent(problem, process, options)
    signal = signal_of(behavior, problem.outputs(problem.queries, run.end.flatten()), problem.query_labels)
    slope = (problem.queries.T @ signal / len(signal))[:, :, None]
    return stretches, run.pulled(slope, options, _marks(stretches, process.steps))[0]


by_stretches = by_form(_of_softmax, _of_module)
"""(the steps of each part, from 1; dB̄/dα (parts, n) by the weight of every example in that part alone) of the mean
behavior of the queries, in the one run of the process. They add up to the derivative by the weight in all of the
training. Raises as `replay` does."""


def _stretches(steps: int, count: int) -> list[range]:
    ends = [steps * index // count for index in range(count + 1)]
    return [range(first + 1, last + 1) for first, last in zip(ends, ends[1:], strict=False)]


def _marks(stretches: list[range], steps: int) -> Tensor:
    return torch.tensor([[step in stretch for stretch in stretches] for step in range(1, steps + 1)])
