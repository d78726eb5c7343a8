"""The two forms of problems, which a kind of problem declares by `linear`.

Where logits are linear in the parameters, f(x) = Wᵀx, answers have closed forms in inputs, kernels and signals, as
those of softmax regression. Everything else is a network, and is differentiated automatically.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from engine.basics.errors import InvalidInput
from engine.problems.causal import CausalProblem
from engine.problems.module import ModuleProblem
from engine.problems.problem import Problem
from engine.problems.softmax import SoftmaxProblem

P = ParamSpec("P")
T = TypeVar("T")


def by_reads(classes: Callable[Concatenate[Problem, P], T], tokens: Callable[Concatenate[CausalProblem, P], T]
             ) -> Callable[Concatenate[Problem, P], T]:
    """One function of any problem: classes(problem, …) of a classifier, tokens(problem, …) of a language model."""
    forms: dict[str, Callable[..., Any]] = {"classes": classes, "tokens": tokens}

    def of_problem(problem: Problem, *args: P.args, **kwargs: P.kwargs) -> T:
        if problem.reads not in forms:
            raise InvalidInput(f"This reads classes or records, and the model is {problem.noun}; choose a classifier "
                               "or a language model.")
        return forms[problem.reads](problem, *args, **kwargs)

    return of_problem


def by_form(closed: Callable[Concatenate[SoftmaxProblem, P], T], network: Callable[Concatenate[ModuleProblem, P], T]
            ) -> Callable[Concatenate[Problem, P], T]:
    """One function of any problem: closed(problem, …) where its logits are linear in θ, else network(problem, …)."""
    forms: dict[bool, Callable[..., Any]] = {True: closed, False: network}
    return lambda problem, *args, **kwargs: forms[problem.linear](problem, *args, **kwargs)
