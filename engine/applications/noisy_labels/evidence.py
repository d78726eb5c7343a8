"""What a scorer may see: pictures with the labels they came with, and a trusted set. Never which labels are wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.basics.errors import InvalidInput
from engine.data.dataset import digest


@dataclass(frozen=True, eq=False)
class Evidence:
    """x (n, …) float32 and observed labels y (n,); trusted_x (m, …) and verified labels trusted_y (m,); classes C.

    All labels are int64. Corruption flags have a type of their own, `engine.data.corruption.Flags`, and no place here.
    Raises `InvalidInput` for data of one class, a class without a trusted example, or a trusted example that is a
    training example as well.
    """

    x: np.ndarray
    y: np.ndarray
    trusted_x: np.ndarray
    trusted_y: np.ndarray
    classes: int

    def __post_init__(self) -> None:
        for name in ("x", "y", "trusted_x", "trusted_y"):
            if not isinstance(getattr(self, name), np.ndarray):
                raise TypeError(f"`{name}` is {type(getattr(self, name)).__name__}, but evidence must be arrays")
        if len(np.unique(self.y)) < 2:
            raise InvalidInput("All training examples are of one class, so labels cannot be compared; give data of "
                               "two or more classes.")
        missing = sorted(set(np.unique(self.y)) - set(np.unique(self.trusted_y)))
        if missing:
            raise InvalidInput(f"The trusted set has no example of class {missing[0]}; add at least "
                               "one of every class.")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of pictures and observed labels in their order; not of the trusted set."""
        return digest(self.x, self.y)

    def check_apart(self) -> None:
        """Raise `InvalidInput` where a trusted example has the very pixels of a training example."""
        trusted = Counter(image.tobytes() for image in self.trusted_x)
        shared = [row for row, image in enumerate(self.x) if image.tobytes() in trusted]
        if shared:
            raise InvalidInput(f"{len(shared):,} training examples are in the trusted set as well (the first is row "
                               f"{shared[0]:,}); the trusted set must be disjoint from the searched labels; remove "
                               "them from one of the two.")
