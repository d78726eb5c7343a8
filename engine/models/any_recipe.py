"""A recipe of either kind out of plain data: one that trains a network, or one that fine-tunes a language model."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, SerializeAsAny, ValidationInfo

from engine.models.causal.loading import is_causal
from engine.models.causal.recipe import FineTuning
from engine.models.recipe import Recipe, TrainingRecipe

TUNING = frozenset({"rank", "batch", "targets", "scaling", "warmup", "clip", "context"})
"""Keys by which a recipe is known as one that fine-tunes a language model."""


def read_recipe(given: Any, model: str = "") -> Any:
    """A recipe out of plain data: of the kind that its keys or the model, by its name or its code, are of. Raises
    `InvalidInput`."""
    if not isinstance(given, dict):
        return given
    return (FineTuning if TUNING & set(given) or ":" not in model and is_causal(model) else Recipe).parse(given)


def _of_model(given: Any, info: ValidationInfo) -> Any:
    return read_recipe(given, info.data.get("function") or info.data.get("model", ""))


AnyRecipe = Annotated[SerializeAsAny[TrainingRecipe], BeforeValidator(_of_model)]
"""A field behind the one that names the `model`, or the `function` that builds it."""
