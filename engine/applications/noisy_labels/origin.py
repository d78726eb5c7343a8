"""Where trusted examples come from: verified labels, or, if that is asked for, a part of the labels in doubt, drawn
once or held out in turn."""

from __future__ import annotations

from typing import Final

from engine.basics.errors import InvalidInput
from engine.data import Dataset

VERIFIED: Final = "verified"
IN_DOUBT: Final = "labels in doubt"
IN_TURN: Final = "cross-validation"
SEARCH = "A search for noisy labels"


def check_origin(dataset: Dataset, own: bool, trusted_from: str) -> None:
    """Raises `InvalidInput` for targets, where a user's own data bring no test split and nobody said to trust a part
    of the labels in doubt, and where that is said of data with verified labels."""
    dataset.check_classes(SEARCH)
    if trusted_from == IN_TURN:
        return
    in_doubt = own and dataset.test_from_train
    if in_doubt and trusted_from != IN_DOUBT:
        raise InvalidInput("These data have no `test` folder, so no label is verified: put verified images into "
                           "`test/CLASS` beside `train/CLASS`, or trust no label, with `trusted_from` as "
                           f"\"{IN_TURN}\", or trust some of the unverified labels, as \"{IN_DOUBT}\".")
    if not in_doubt and trusted_from == IN_DOUBT:
        raise InvalidInput(f"`trusted_from` is \"{IN_DOUBT}\", but these data have verified labels; leave it out.")


def origin_sentence(dataset: Dataset, own: bool, count: int) -> str:
    """Where `count` trusted examples come from, as a sentence that stands wherever results do."""
    if not own:
        return (f"{count:,} trusted examples, sampled from the training set and excluded from the search; their labels "
                "are those of the dataset.")
    if dataset.test_from_train:
        return (f"{count:,} trusted examples, sampled from the unverified labels: some may be wrong, which affects "
                "scores and test accuracy.")
    return f"{count:,} trusted examples, sampled from your own {dataset.test_origin}, whose labels count as verified."


def in_turn_sentence(count: int, folds: int) -> str:
    """That no label is trusted, as a sentence that stands wherever results do."""
    return (f"No label is trusted: each of {count:,} is scored by {folds - 1} model{'s' if folds > 2 else ''}, each "
            f"evaluated on the one of {folds} folds that it was not trained on.")
