"""Moments of a training as fractions of its steps, in one text: `0.33,0.66,1`."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import AfterValidator

from engine.basics.errors import InvalidInput
from engine.basics.values import short

SLACK = 1e-9
"""What rounding may add to a product of a fraction and a number of steps."""


def _canonical(text: str) -> str:
    return ",".join(short(one) for one in fractions_of(text))


def fractions_of(text: str) -> tuple[float, ...]:
    """The fractions, ascending, each once. Raises `InvalidInput` for what is none in (0, 1]."""
    try:
        values = sorted({float(item) for item in text.split(",") if item.strip()})
    except ValueError:
        values = [0.0]
    if values and not (values[0] > 0.0 and values[-1] <= 1.0):
        raise InvalidInput(f"`{text[:40]}` is not a list of fractions of a training run; write fractions above 0 and "
                           "up to 1, such as `0.33,0.66,1`.")
    return tuple(values)


def steps_at(text: str, total: int) -> list[int]:
    """⌈f · total⌉ for every fraction f: the steps after which they are reached, ascending, each once."""
    return sorted({max(1, math.ceil(fraction * total - SLACK)) for fraction in fractions_of(text)})


Fractions = Annotated[str, AfterValidator(_canonical)]
"""Empty for none."""
