"""Fields that several requests have, with what is said of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engine.question.processes import Replay
from engine.requests.request import Shown

Differentiable = Annotated[str, Field(description="A behavior with a gradient; `list` shows them.")]
Descent = Annotated[Replay, Shown(("eta", "steps"))]
"""The run that is looked into; of softmax regression, which has no recipe, a descent."""
