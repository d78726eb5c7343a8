"""Faults of an SQLite file as one sentence: what is wrong with it, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.basics.errors import StoreError, WhichfluenceError
from engine.basics.values import capital


@contextmanager
def database_errors(path: Path, noun: str, remedy: str) -> Iterator[None]:
    """Turn faults of the file `path`, called `noun`, into a `StoreError`. remedy: what to do where it is damaged."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise StoreError(_sentence(path, noun, remedy, str(error))) from error
    except OSError as error:
        if isinstance(error, WhichfluenceError):
            raise
        raise StoreError(_unusable(path, noun, error.strerror or str(error))) from error


def _sentence(path: Path, noun: str, remedy: str, text: str) -> str:
    if "full" in text:
        return f"The disk is full, so {noun} cannot be written; free some space and try again."
    if "locked" in text or "busy" in text:
        return f"{capital(noun)} is busy; try again in a moment."
    if "not a database" in text or "malformed" in text or "no such" in text:
        return f"{capital(noun)} `{path}` is damaged; {remedy}."
    return _unusable(path, noun, text)


def _unusable(path: Path, noun: str, reason: str) -> str:
    return (f"{capital(noun)} in `{path.parent}` cannot be used ({reason}); check that the folder exists, is writable "
            "and has space, or choose another with WHICHFLUENCE_HOME.")
