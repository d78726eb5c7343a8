"""Text of others inside Markdown: the reader's own, a link's, a file's."""

from __future__ import annotations

import re

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
LONGEST, LONGEST_QUOTE = 800, 120
"""Letters of a sentence, and of what it quotes in backticks."""
ADDRESS = re.compile(r"(https?|ftp|mailto|www|@)(?=[:.\w])", re.IGNORECASE)
"""What the browser's Markdown makes a link of although no sign of Markdown stands in it."""
UNLINKED = "\u2060"
"""Joins two letters, and is not seen."""
FORMATTING = re.compile(r"[\\*\[\]~$|]|(?<!\w)_|_(?!\w)|:(?=\w)|^[#>+=-]")


def plain(text: str) -> str:
    """Text in which Markdown finds nothing to format, and the browser's no address."""
    return "".join(ENTITIES.get(letter) or (f"\\{letter}" if letter in r"\`*_{}[]()#+-.!|~:$" else letter)
                   for letter in ADDRESS.sub(rf"\1{UNLINKED}", text))


def sentence(text: object) -> str:
    """A message, such as an error of the engine, that quotes others in backticks: a single line, shortened.

    What stands between two backticks is shown as code, and nothing else is formatted, so that a backtick in what is
    quoted only moves where the code ends: it adds no link, picture, heading or colour.
    """
    parts = [_shortened(part, LONGEST_QUOTE) if place % 2 else part
             for place, part in enumerate(" ".join(str(text).split()).split("`"))]
    parts = _shortened("`".join(parts), LONGEST).split("`")
    lone = "" if len(parts) % 2 else "\\`" + _escaped(parts.pop())
    return "".join(f"`{part}`" if place % 2 and part.strip() else _escaped(part)
                   for place, part in enumerate(parts)) + lone


def _escaped(text: str) -> str:
    signs = FORMATTING.sub(r"\\\g<0>", re.sub("[&<>]", lambda found: ENTITIES[found[0]], text))
    return ADDRESS.sub(rf"\1{UNLINKED}", signs)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most - 1]}…"
