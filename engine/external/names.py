"""Names of rows and columns in files: numbers where they are numbers, whatever type the file gives them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.basics.errors import InvalidInput

MOST_DIGITS = 15


def numbered(names: Iterable[object]) -> np.ndarray | None:
    """The names as whole numbers, int64: 7, "7", "07" and 7.0 are the number 7; None where one is no number."""
    texts = [str(name).strip().removesuffix(".0") for name in names]
    if not texts or any(not text.isdecimal() or len(text) > MOST_DIGITS for text in texts):
        return None
    return np.array([int(text) for text in texts], dtype=np.int64)


def required(names: Iterable[object], what: str, remedy: str) -> np.ndarray:
    """`numbered`, of a list whose order says nothing. Raises `InvalidInput` for text, and for a number twice."""
    names = list(names)
    numbers = numbered(names)
    if numbers is None:
        odd = next(str(name)[:40] for name in names if numbered([name]) is None)
        raise InvalidInput(f"The list names {what} `{odd}`, which is not a number, so it cannot be matched; {remedy}.")
    if len(np.unique(numbers)) < len(numbers):
        raise InvalidInput(f"The list names {what} by one number written in two ways, such as 7 and 07; use one of "
                           "them.")
    return numbers


def in_file_order(names: Iterable[object], what: str) -> str:
    """Says that names which are no numbers play no part."""
    first = str(next(iter(names)))[:40]
    return (f"The {what} are named by text (`{first}`, …), which is not matched: the order of the file is used.")


def by_ids(what: str) -> str:
    """Says that names were matched by the ids of records."""
    return f"The {what} are matched by the ids of the records."
