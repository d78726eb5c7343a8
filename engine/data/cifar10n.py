"""Human labels of CIFAR-10's training pictures, right and wrong ones (CIFAR-10N, Wei et al. 2022; CC BY-NC 4.0)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.folders import DATA
from engine.basics.registry import unknown
from engine.data.locations import Location

FILE = "cifar10n_train.parquet"
KINDS = ("aggregate", "random_1", "random_2", "random_3", "worst")
"""The majority of three people, each of the three, and a wrong one of the three where there is one."""
LOCATION = Location("CIFAR-10N", Path("cifar10n"), (FILE,), "66 kB",
                    f"set {DATA} to a folder that holds cifar10n/{FILE}")
content = LOCATION.content


def labels(kind: str, right: np.ndarray) -> np.ndarray:
    """The labels (n,) of a kind, in the order of `engine.data.cifar10`, whose labels are `right`.

    Raises `InvalidInput` for another kind, `MissingData` where the file is not here or belongs to another order.
    """
    import pyarrow.parquet as parquet

    if kind not in KINDS:
        raise InvalidInput(unknown("kind of label", kind, KINDS))
    root = LOCATION.ready(False, lambda: None)
    try:
        table = parquet.read_table(root / LOCATION.folder / FILE, columns=["label", kind])
        clean, given = (table[name].to_numpy().astype(np.int64) for name in ("label", kind))
    except (OSError, ValueError, KeyError):
        raise MissingData(f"cifar10n/{FILE} is damaged; replace it in {DATA}.") from None
    if not np.array_equal(clean, right):
        raise MissingData(f"cifar10n/{FILE} has its labels in a different order from the CIFAR-10 here; "
                          f"{LOCATION.remedy}.")
    return given
