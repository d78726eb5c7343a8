"""What people call the parts of their data: which is searched, and which are asked about."""

from __future__ import annotations

TRAIN, VAL, TEST = "train", "val", "test"
_NAMES = {TRAIN: ("train", "training"), VAL: ("val", "valid", "validation", "dev"), TEST: ("test", "testing", "eval")}
_SPLIT = {name: split for split, names in _NAMES.items() for name in names}


def split_of(name: object) -> str | None:
    """`train`, `val` or `test`, as a name in any case says it; None for every other name."""
    return _SPLIT.get(str(name).strip().casefold())
