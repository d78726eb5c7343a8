"""What chunks of runs begin with: the problem of the payload's source, trained where it was not yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.basics.errors import InvalidInput
from engine.jobs import Context, Handed, Shares
from engine.problems import DrawnProblem, ProblemSource, build_kept
from engine.problems.handed import handed, take

MODEL = "model"
"""What chunks of a problem have in common: the model, and its outputs for data and queries."""


def drawn_problem(data: Mapping[str, Any], context: Context, share: float) -> DrawnProblem:
    """The drawn problem of `data["source"]`; its training is the first `share` of the chunk. Raises as
    `check_contents` does."""
    source = ProblemSource.parse(data["source"])
    check_contents(data, source.contents)
    return build_kept(source, context.device, check=context.check,
                      progress=lambda done: context.progress(share * done, "training the model"))


def check_contents(data: Mapping[str, Any], here: Mapping[str, str]) -> None:
    """Raises `InvalidInput` where a name in a payload stands for something else than when it was made.

    here: what the names stand for now. What was not known then, or in a payload of an earlier version, may be all.
    """
    for name, asked in data.get("contents", {}).items():
        if asked and asked != here.get(name):
            raise InvalidInput(f"The {name} of this run have changed since it was asked for; ask again.")


def make_model(data: Mapping[str, Any], name: str, taken: Handed, context: Context) -> Handed:
    """The trained model of a problem with its outputs, for other processes."""
    problem = drawn_problem(data, context, 0.9).problem
    problem.prepare()
    return handed(problem, taken)


def take_model(data: Mapping[str, Any], parcels: Handed, context: Context) -> None:
    """Let the problem of this process know what another has computed of it."""
    take(drawn_problem(data, context, 0.0).problem, parcels)


def _names(data: Mapping[str, Any], key: str) -> Sequence[str]:
    return (MODEL,)


SHARES = Shares(_names, make_model, take_model)
"""For kinds of run whose chunks all begin with the problem of `data["source"]`."""
