"""Four small problems in float64 on any device, and everything that each of them can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.estimators import ESTIMATORS
from engine.problems import Problem, SoftmaxProblem
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.scoring.compute import check
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests
from tests.truth import cases, language_cases

Moved = Callable[[Tensor], Tensor]
PROBLEMS: dict[str, Callable[[str, Moved], Problem]] = {
    "softmax": lambda device, moved: SoftmaxProblem(*_moved(problems_for_tests.arrays(), moved), [9, 0, 5], l2=1e-2,
                                                    device=device),
    "network": lambda device, moved: cases.problem("tanh", "float64", moved=moved, device=device),
    "pooled": lambda device, moved: cases.problem("max-pool", "float64", moved=moved, device=device),
    "adapters": lambda device, moved: language_cases.problem("adapters", moved=moved, device=device),
}
"""name -> (device, what becomes of the numbers that it is made of) -> problem."""
OF_INTERVENTIONS = {"upweight": {"alpha": 0.01}, "relabel": {"label": 1}}
OF_PROCESSES = {"one_step": {"eta": 0.1}, "unrolled": {"eta": 0.1, "steps": 3}, "local_response": {"damping": 0.1},
                "trajectory": {"eta": 0.1, "checkpoints": 2, "every": 3}, "local_search": {"iterations": 5},
                "reoptimize": {"damping": 0.1}, "replay": {"eta": 0.3, "steps": 20}}
OF_NETWORKS = OF_PROCESSES | {"replay": {}}
"""A network repeats its own recipe."""
GIVEN = {"softmax": OF_PROCESSES, "network": OF_NETWORKS, "pooled": OF_NETWORKS,
         "adapters": OF_NETWORKS | {"reoptimize": {"damping": 2.0}}}
"""problem -> process -> what it is given. With a tenth of that damping a search of adapters takes minutes on the
processor, and longer on a GPU."""


def _moved(arrays: tuple, moved: Moved) -> list:
    x, y, x_query, y_query = arrays
    return [moved(torch.from_numpy(x)), y, moved(torch.from_numpy(x_query)), y_query]


def problem(name: str, device: str = "cpu") -> Problem:
    return PROBLEMS[name](device, lambda numbers: numbers)


def rounded_otherwise(name: str, draw: int) -> Problem:
    """The same on the processor, every number that it is made of moved in its last digits: how far that moves a score
    is how far apart two devices may be."""
    generator = torch.Generator().manual_seed(draw)
    return PROBLEMS[name]("cpu", lambda numbers: numbers * (1 + 4e-16 * torch.randn(
        numbers.shape, generator=generator, dtype=torch.float64)))


def scorings(name: str) -> Iterator[Scoring]:
    """One for each intervention, process and estimator that fit each other and the problem."""
    asked = problem(name)
    behavior = "response_loss" if name == "adapters" else "query_loss"
    for estimator, found in ESTIMATORS.items():
        for process in PROCESSES:
            for intervention in INTERVENTIONS:
                with suppress(InvalidInput):
                    scoring = Scoring.of(behavior, {"kind": intervention, **OF_INTERVENTIONS.get(intervention, {})},
                                         {"kind": process, **GIVEN[name].get(process, {})}, estimator)
                    check(asked, scoring)
                    found.route(asked, process)
                    yield scoring
