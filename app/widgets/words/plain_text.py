"""Text of others inside Markdown: the reader's own, a link's, a file's."""

from __future__ import annotations

import re

from engine.basics.terminal import COMMANDS

ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
LONGEST, LONGEST_QUOTE = 800, 120
"""Letters of a sentence, and of what it quotes in backticks."""
ADDRESS = re.compile(r"(https?|ftp|mailto|www|@)(?=[:.\w])", re.IGNORECASE)
"""What the browser's Markdown makes a link of although no sign of Markdown stands in it."""
UNLINKED = "\u2060"
"""Joins two letters, and is not seen."""
FORMATTING = re.compile(r"[\\*\[\]~$|]|(?<!\w)_|_(?!\w)|:(?=\w)|^[#>+=-]")


def plain(text: str) -> str:
    """Text in which Markdown finds nothing to format, the browser's no address, and nothing turns the direction of
    what follows."""
    return "".join(ENTITIES.get(letter) or (f"\\{letter}" if letter in r"\`*_{}[]()#+-.!|~:$" else letter)
                   for letter in ADDRESS.sub(rf"\1{UNLINKED}", COMMANDS.sub("", text)))


def sentence(text: object) -> str:
    """A message, such as an error of the engine, that quotes others in backticks: a single line, shortened.

    What stands between two backticks is shown as code, and nothing else is formatted, so that a backtick in what is
    quoted only moves where the code ends: it adds no link, picture, heading or colour.
    """
    pieces = [_shortened(piece, LONGEST_QUOTE) if index % 2 else piece
             for index, piece in enumerate(" ".join(COMMANDS.sub("", str(text)).split()).split("`"))]
    pieces = _shortened("`".join(pieces), LONGEST).split("`")
    lone = "" if len(pieces) % 2 else "\\`" + _escaped(pieces.pop())
    return "".join(f"`{piece}`" if index % 2 and piece.strip() else _escaped(piece)
                   for index, piece in enumerate(pieces)) + lone


def _escaped(text: str) -> str:
    signs = FORMATTING.sub(r"\\\g<0>", re.sub("[&<>]", lambda match: ENTITIES[match[0]], text))
    return ADDRESS.sub(rf"\1{UNLINKED}", signs)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most - 1]}…"
