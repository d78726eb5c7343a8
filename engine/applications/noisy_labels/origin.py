"""Where trusted examples come from: verified labels, or, if that is asked for, a part of the labels in doubt."""

from __future__ import annotations

from typing import Final

from engine.basics.errors import InvalidInput
from engine.data import Dataset

VERIFIED: Final = "verified"
IN_DOUBT: Final = "labels in doubt"


def check_origin(dataset: Dataset, own: bool, trusted_from: str) -> None:
    """Raises `InvalidInput` where a user's own data bring no test split and nobody said to trust a part of the
    labels in doubt, and where that is said of data with verified labels."""
    in_doubt = own and dataset.test_drawn
    if in_doubt and trusted_from != IN_DOUBT:
        raise InvalidInput("These data bring no `test` folder, so there are no verified labels to trust: put verified "
                           "images into `test/CLASS` beside `train/CLASS`, or say that "
                           f"a part of the labels in doubt is to be trusted, with `trusted_from` as \"{IN_DOUBT}\".")
    if not in_doubt and trusted_from == IN_DOUBT:
        raise InvalidInput(f"`trusted_from` is \"{IN_DOUBT}\", but these data have verified labels to trust; leave it "
                           "out.")


def told_origin(dataset: Dataset, own: bool, count: int) -> str:
    """Where `count` trusted examples come from, as a sentence that stands wherever results do."""
    if not own:
        return (f"{count:,} trusted examples, drawn from the training set and left out of the search; their labels "
                "are those of the dataset.")
    if dataset.test_drawn:
        return (f"{count:,} trusted examples, drawn from the labels in doubt: some of them may be wrong themselves, "
                "and the scores and the test accuracy with them.")
    brought = "`test` folder" if dataset.files else "queries (`x_query`)"
    return f"{count:,} trusted examples, drawn from your own {brought}, whose labels count as verified."
