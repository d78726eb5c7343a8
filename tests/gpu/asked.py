"""Three small problems in float64 on any device, and everything that each of them can be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from engine.basics.errors import InvalidInput
from engine.estimators import ESTIMATORS
from engine.problems import Problem
from engine.question.interventions import INTERVENTIONS
from engine.question.processes import PROCESSES
from engine.scoring.compute import check
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests
from tests.truth import cases, language_cases

PROBLEMS: dict[str, Callable[[str], Problem]] = {
    "softmax": lambda device: problems_for_tests.problem(candidates=[9, 0, 5], device=device),
    "network": lambda device: cases.problem("tanh", "float64", device=device),
    "pooled": lambda device: cases.problem("max-pool", "float64", device=device),
    "adapters": lambda device: language_cases.problem("adapters", device=device),
}
OF_INTERVENTIONS = {"upweight": {"alpha": 0.01}, "relabel": {"label": 1}}
OF_PROCESSES = {"one_step": {"eta": 0.1}, "unrolled": {"eta": 0.1, "steps": 3}, "local_response": {"damping": 0.1},
                "trajectory": {"eta": 0.1, "checkpoints": 2, "every": 3}, "local_search": {"iterations": 5},
                "reoptimize": {"damping": 0.1}, "replay": {"eta": 0.3, "steps": 20}}
OF_NETWORKS = {"replay": {}}
"""A network repeats its own recipe."""


def scorings(name: str) -> Iterator[Scoring]:
    """One for each intervention, process and estimator that fit each other and the problem."""
    problem = PROBLEMS[name]("cpu")
    behavior = "response_loss" if name == "adapters" else "query_loss"
    given = OF_PROCESSES if name == "softmax" else OF_PROCESSES | OF_NETWORKS
    for estimator, found in ESTIMATORS.items():
        for process in PROCESSES:
            for intervention in INTERVENTIONS:
                with suppress(InvalidInput):
                    scoring = Scoring.of(behavior, {"kind": intervention, **OF_INTERVENTIONS.get(intervention, {})},
                                         {"kind": process, **given.get(process, {})}, estimator)
                    check(problem, scoring)
                    found.route(problem, process)
                    yield scoring
