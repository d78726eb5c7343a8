"""What chunks of runs begin with: the problem of the payload's source, trained where it was not yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.jobs import Context
from engine.problems import DrawnProblem, Problem, ProblemSource, build_kept


def drawn_problem(data: Mapping[str, Any], context: Context, share: float) -> DrawnProblem:
    """The drawn problem of `data["source"]`; its training is the first `share` of the chunk."""
    return build_kept(ProblemSource.parse(data["source"]), context.device, check=context.check,
                      progress=lambda done: context.progress(share * done, "training the model"))


def first_candidates(data: Mapping[str, Any], context: Context) -> Problem:
    """The problem with the first `data["candidates"]` of its drawn candidates."""
    problem = drawn_problem(data, context, 0.1).problem
    return problem.with_candidates(problem.candidates[:data["candidates"]])
