"""The name of a language model, as an address or a reader gives it."""

from __future__ import annotations

from engine.desk import models

LONGEST = 300


def model_name(text: str) -> str:
    """A model's name out of an address. Raises `ValueError` for text that can name none."""
    if not text.strip() or len(text) > LONGEST:
        raise ValueError("name a model")
    return text if text in models.local_models() else models.absolute(text)
