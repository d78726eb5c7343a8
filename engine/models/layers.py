"""Parameters that are chosen by patterns over names: `layers:blocks.3.*,head`.

A pattern is a name, or a glob (`*`, `?`, `[…]`) over whole names, of a parameter or of a module, which stands for all
parameters within it: `head` means `head.weight` and `head.bias`, and not `encoder.head.weight`; `*.head` means that.
The choice belongs to the question: what is asked of these parameters is asked of a model in which they alone move.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from engine.basics.errors import InvalidInput

PREFIX = "layers:"
SHOWN = 3
"""How many of the nearest names a refusal lists."""


def spelled(selection: str | Sequence[str]) -> str:
    """A selection as one text: a list of patterns behind `PREFIX`, a text as it is. Raises `InvalidInput` for a list
    that holds no pattern, or something else than texts."""
    if isinstance(selection, str):
        return PREFIX + ",".join(patterns(selection)) if selection.startswith(PREFIX) else selection
    if not isinstance(selection, Sequence) or not all(isinstance(one, str) and "," not in one for one in selection):
        raise InvalidInput("The layers are not a list of names; write [\"blocks.3.*\", \"head\"].")
    return spelled(PREFIX + ",".join(selection))


def patterns(selection: str) -> list[str]:
    """Those behind `PREFIX`. Raises `InvalidInput` where there is none."""
    if names := listed(selection.removeprefix(PREFIX)):
        return names
    raise InvalidInput(f"No layer is named; write names separated by commas, as in `{PREFIX}blocks.3.*,head`.")


def listed(text: str) -> list[str]:
    """The names between commas."""
    return [one.strip() for one in text.split(",") if one.strip()]


def title(selection: str) -> str:
    """The parameters that count, as the end of a title; empty where all do."""
    named = " and ".join(patterns(selection)) if selection.startswith(PREFIX) else selection.replace("_", " ")
    return "" if selection == "all" else f", {named} alone"


def chosen(wanted: Sequence[str], names: Mapping[str, str] | Sequence[str]) -> tuple[str, ...]:
    """What the patterns choose of `names`, in their order; of a mapping its values, whose keys are the names.

    Raises `InvalidInput` for the first pattern that matches none, with the nearest names.
    """
    named = names if isinstance(names, Mapping) else {name: name for name in names}
    for pattern in wanted:
        if not any(_matches(name, pattern) for name in named):
            raise InvalidInput(f"No layer's or parameter's name matches `{pattern}`; {_nearest(pattern, list(named))}.")
    return tuple(own for name, own in named.items() if any(_matches(name, pattern) for pattern in wanted))


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")


def _nearest(pattern: str, names: Sequence[str]) -> str:
    """The names of parameters and modules that are most like a pattern, in words."""
    parts = [name.split(".") for name in names]
    whole = dict.fromkeys(".".join(part[:end]) for part in parts for end in range(1, len(part) + 1))
    near = (difflib.get_close_matches(pattern, list(whole), SHOWN, 0.5)
            or [name for name in whole if pattern.strip("*.") and pattern.strip("*.") in name][:SHOWN])
    if near:
        return f"the nearest are {', '.join(f'`{name}`' for name in near)}"
    return f"the names begin {', '.join(f'`{name}`' for name in list(names)[:SHOWN])}"
