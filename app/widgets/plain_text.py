"""Text of the reader's own inside Markdown."""

from __future__ import annotations


def plain(text: str) -> str:
    """Text in which Markdown finds nothing to format."""
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]()#+-.!|<>~:$" else letter for letter in text)
