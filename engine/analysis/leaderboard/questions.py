"""Which methods stand on a leaderboard, the scoring that each computes, and the exact answers that they are held
against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.analysis.scorecard.tail_patch import ETA
from engine.estimators import configured
from engine.problems import Problem
from engine.problems.causal import ANSWERS
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Trajectory
from engine.scoring.named import NAMED, OF_TOKENS, NamedMethod
from engine.scoring.scoring import Scoring

DAMPING = 0.01
"""Of a local response."""
VARIANTS = ("trak;ridge_rule=gcv", "trak;ridge_rule=loo")
"""Named methods with settings other than their defaults that decide the ranking."""


def with_settings(name: str) -> NamedMethod:
    """A named method, or one with settings, as `trak;ridge_rule=gcv`. Raises `InvalidInput` for others."""
    plain, _, settings = name.partition(";")
    method = NAMED[plain]
    if not settings:
        return method
    estimator = f"{method.estimator};{settings}"
    return replace(method, name=name, title=configured(estimator).title, estimator=estimator)


def answering(problem: type[Problem]) -> list[str]:
    """The named methods and `VARIANTS` that have an answer on problems of a class, in sensible time."""
    return [name for name in (*NAMED, *VARIANTS) if (method := with_settings(name)).answers(problem.kind)
            and configured(method.estimator).offered(problem, method.implied().process.kind)]


def behavior_of(behavior: str, problem: type[Problem]) -> str:
    """The behavior itself, or what stands for it where a problem reads tokens."""
    return behavior if BEHAVIORS[behavior].reads == problem.reads else OF_TOKENS.get(behavior, behavior)


def scorings(problem: type[Problem], names: Sequence[str], behavior: str, damping: float = DAMPING, checkpoints: int = 1
             ) -> dict[str, Scoring]:
    """Name -> what a method computes of a behavior. A similarity, which reads none, raises the logit of the class or
    of the stated answer. damping: of local responses where the objective is not convex. checkpoints: how many a
    trajectory visits."""
    similar = ANSWERS[0] if problem.reads == "tokens" else "query_logit"
    settings = {"damping": 0.0 if problem.convex else damping, "checkpoints": checkpoints}
    methods = {name: with_settings(name) for name in names}
    return {name: one.implied(behavior if one.reads else similar, ETA, **settings) for name, one in methods.items()}


def visited(problem: Problem) -> int:
    """How many checkpoints a trajectory visits: all that are stored, or as many as usual where none is."""
    stored = len(problem.checkpoints) if problem.stored_checkpoints else Trajectory.model_fields["checkpoints"].default
    return max(1, stored)


def questions(problem: type[Problem], scored: Mapping[str, Scoring]) -> list[Scoring]:
    """The exact answers to the questions of the methods, each once, that exist on problems of a class."""
    own = dict.fromkeys(one.exact_answer for one in scored.values() if one.route.implies)
    return [one for one in own if one.route.offered(problem, one.process.kind)]
