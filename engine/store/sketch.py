"""What a small picture of a result is drawn from: a few numbers, pictures or words, never the result itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST = 12
"""Rows and columns of a grid that are still told apart in a small picture."""
BARS = 24


@dataclass(frozen=True)
class Grid:
    """A table of values in [low, high]; None where there is none. said: what it shows, for whoever cannot see it."""

    rows: tuple[tuple[float | None, ...], ...]
    low: float
    high: float
    said: str

    @classmethod
    def of(cls, rows: Iterable[Sequence[float]], low: float, high: float, said: str) -> Grid:
        """The first rows and columns of a table; NaN becomes None."""
        cut = [list(row)[:MOST] for row in rows][:MOST]
        return cls(tuple(tuple(round(float(value), 3) if value == value else None for value in row) for row in cut),
                   low, high, said)


@dataclass(frozen=True)
class Bars:
    """Values side by side, from 0."""

    values: tuple[float, ...]
    said: str

    @classmethod
    def of(cls, values: Iterable[float], said: str) -> Bars | None:
        """The first of the values that are numbers; None where there is none to compare with another."""
        heights = tuple(float(value) for value in values if value == value)[:BARS]
        return cls(heights, said) if len(heights) > 1 else None


@dataclass(frozen=True)
class Pictures:
    """A few pictures as PNG."""

    images: tuple[bytes, ...]
    said: str


@dataclass(frozen=True)
class Words:
    """The first words of a text."""

    text: str


Sketch = Grid | Bars | Pictures | Words
