"""A recipe of either kind out of plain data: one that trains a network, or one that fine-tunes a language model."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, SerializeAsAny

from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe, TrainingRecipe

TUNING = frozenset({"rank", "batch", "targets", "scaling", "warmup", "clip", "context"})
"""Keys by which a recipe is known as one that fine-tunes a language model."""


def read_recipe(given: Any) -> Any:
    """A recipe out of plain data: of the kind that its keys are of. Raises `InvalidInput`."""
    if not isinstance(given, dict):
        return given
    return (FineTuning if TUNING & set(given) else Recipe).parse(given)


AnyRecipe = Annotated[SerializeAsAny[TrainingRecipe], BeforeValidator(read_recipe)]
