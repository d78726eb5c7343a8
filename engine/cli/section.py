"""A titled list of names, as `list` and `doctor` print it."""

from __future__ import annotations

from collections.abc import Iterable


def section(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title, and below it a line for each name with its text, the texts in one column."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {text}".rstrip() for name, text in rows)])
