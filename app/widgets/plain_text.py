"""Text of the reader's own inside Markdown."""

from __future__ import annotations

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def plain(text: str) -> str:
    """Text in which Markdown finds nothing to format."""
    return "".join(ENTITIES.get(letter) or (f"\\{letter}" if letter in r"\`*_{}[]()#+-.!|~:$" else letter)
                   for letter in text)
