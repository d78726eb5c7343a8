"""Fields that several requests have, with what is said of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer

from engine.question.processes import Replay
from engine.requests.request import Option
from engine.scoring.scoring import Scoring

Differentiable = Annotated[str, Field(description="A behavior with a gradient; `list` shows them.")]
Descent = Annotated[Replay, Option(parts=("eta", "steps"))]
"""The run that is looked into; of softmax regression, which has no recipe, a descent."""
StoredScoring = Annotated[
    Scoring, BeforeValidator(lambda data: data if isinstance(data, Scoring) else Scoring.read(data)),
    PlainSerializer(lambda scoring: scoring.canonical())]
"""A scoring, stored as its canonical form."""
