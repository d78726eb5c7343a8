"""Text of others, such as a class's name, on a terminal: it commands nothing there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

COMMANDS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|(?<!^)\r(?!\n|$)")
"""What moves the cursor, colours, rings or turns the direction of reading: control characters but for tabs and line
breaks, a return that would write over its own line, and the overrides of Unicode's bidirectional algorithm."""
MOVES = re.compile(r"[\r\n]*(\x1b\[A)*")
"""What a progress bar writes to move to its own line."""


class Plain:
    """A stream on which control characters are spelled, such as `\\x1b`; in all else the stream itself."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """What `write` of the stream returns."""
        return self._stream.write(text if MOVES.fullmatch(text) else COMMANDS.sub(_spelled, text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def plain_output() -> Iterator[None]:
    """Standard output and error as `Plain` streams."""
    with redirect_stdout(Plain(sys.stdout)), redirect_stderr(Plain(sys.stderr)):
        yield


def _spelled(character: re.Match) -> str:
    return character[0].encode("unicode_escape").decode()
