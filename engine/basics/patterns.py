"""Regular expressions that users write, one of which may never end."""

from __future__ import annotations

import regex

from engine.basics.errors import InvalidInput

MOST_SECONDS = 20.0
"""Of processor time that a user's patterns may take on all texts of a file, or of a model's parameters."""


def fits(pattern: str, text: str, named: str, seconds: float) -> list[regex.Match[str]]:
    """Where a pattern fits a text, whose lines it may span. named: the text, as a refusal names it.

    Raises `InvalidInput` for a pattern that takes longer than so many seconds, as repetitions inside repetitions may,
    and `regex.error` for what is no expression.
    """
    try:
        return list(regex.finditer(pattern, text, regex.DOTALL | regex.MULTILINE, concurrent=True,
                                   timeout=max(seconds, 0.01)))
    except TimeoutError:
        raise InvalidInput(f"`{pattern[:60]}` takes too long ({named}); avoid repetitions inside "
                           "repetitions.") from None
