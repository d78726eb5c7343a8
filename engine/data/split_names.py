"""What people call the parts of their data: which is searched, and which are asked about."""

from __future__ import annotations

import re

TRAIN, VAL, TEST = "train", "val", "test"
_NAMES = {TRAIN: ("train", "training"), VAL: ("val", "valid", "validation", "dev"), TEST: ("test", "testing", "eval")}
_SPLIT = {name: split for split, names in _NAMES.items() for name in names}
_FORM = re.compile(rf"(?:.*[ _-])?({'|'.join(sorted(_SPLIT, key=len, reverse=True))})"
                   r"[ _-]*(set|data|images?|imgs?|split|\d+)?")
"""`train`, and as people write it beside: `train2017`, `training_set`, `val-images`, `seg_train`."""


def split_of(name: object) -> str | None:
    """`train`, `val` or `test`, as a name in any case says it; None for every other name."""
    form = _FORM.fullmatch(str(name).strip().casefold())
    return _SPLIT[form[1]] if form else None
