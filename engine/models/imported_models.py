"""Trained weights and recordings of a user's own, listed and deleted alike: HOME/models/own."""

from __future__ import annotations

from engine.basics.errors import WhichfluenceError
from engine.basics.own_files import Stored
from engine.basics.sizes import spell_bytes
from engine.models import own_weights
from engine.models.recorded import stored_recordings


def entries() -> list[Stored]:
    """All of the current user."""
    weights = [Stored(name, f"Weights {name}", spell_bytes(size), written)
               for name, written, size in own_weights.FILES.all()]
    return [*weights, *(_recording(name, written) for name, written, _ in stored_recordings.FOLDERS.all())]


def delete(name: str) -> None:
    """Remove one; none is fine. Raises `InvalidInput` for what is no name of one."""
    (stored_recordings.FOLDERS if stored_recordings.is_recording(name) else own_weights.FILES).delete(name)


def _recording(name: str, written: float) -> Stored:
    try:
        summary, trouble = stored_recordings.facts(name).sentence, ""
    except WhichfluenceError as error:
        summary, trouble = "", str(error)
    return Stored(name, f"Recorded training {name}", summary, written, trouble)
