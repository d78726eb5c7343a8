"""Fields that several requests have, with what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer

from engine.basics.options import Options
from engine.problems import Problem
from engine.question.processes import Replay
from engine.requests.request import Option
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring

Differentiable = Annotated[str, Field(description="A behavior with a gradient; `list` shows them.")]
Descent = Annotated[Replay, Option(parts=("eta", "steps"))]
"""The run that is looked into; of softmax regression, which has no recipe, a descent."""
StoredScoring = Annotated[
    Scoring, BeforeValidator(lambda data: data if isinstance(data, Scoring) else Scoring.read(data)),
    PlainSerializer(lambda scoring: scoring.canonical())]
"""A scoring, stored as its canonical form."""
Named = Annotated[Mapping[str, Scoring | InstanceOf[Scores]], Option(read="named"), Field(description=(
    "Specifications, and scores of the problem, by name."))]


def scores_of(problem: Problem, named: Mapping[str, Scoring | Scores], options: Options) -> dict[str, Scores]:
    """The scores by name, those of specifications computed together. Raises as `compute` does."""
    wanted = {name: one for name, one in named.items() if isinstance(one, Scoring)}
    computed = dict(zip(wanted, compute(problem, list(wanted.values()), options) if wanted else (), strict=True))
    return {name: computed[name] if isinstance(one, Scoring) else one for name, one in named.items()}
