"""Where trusted examples come from: verified labels, or, if that is asked for, a part of the labels in doubt, drawn
once or held out in turn."""

from __future__ import annotations

from typing import Final

from engine.basics.errors import InvalidInput
from engine.data import Dataset

VERIFIED: Final = "verified"
IN_DOUBT: Final = "labels in doubt"
IN_TURN: Final = "cross-validation"


def check_origin(dataset: Dataset, own: bool, trusted_from: str) -> None:
    """Raises `InvalidInput` where a user's own data bring no test split and nobody said to trust a part of the
    labels in doubt, and where that is said of data with verified labels."""
    if trusted_from == IN_TURN:
        return
    in_doubt = own and dataset.test_from_train
    if in_doubt and trusted_from != IN_DOUBT:
        raise InvalidInput("These data bring no `test` folder, so there are no verified labels to trust: put verified "
                           "images into `test/CLASS` beside `train/CLASS`, or say that "
                           f"no label is to be trusted, with `trusted_from` as \"{IN_TURN}\", or "
                           f"that a part of the labels in doubt is, as \"{IN_DOUBT}\".")
    if not in_doubt and trusted_from == IN_DOUBT:
        raise InvalidInput(f"`trusted_from` is \"{IN_DOUBT}\", but these data have verified labels to trust; leave it "
                           "out.")


def origin_sentence(dataset: Dataset, own: bool, count: int) -> str:
    """Where `count` trusted examples come from, as a sentence that stands wherever results do."""
    if not own:
        return (f"{count:,} trusted examples, drawn from the training set and left out of the search; their labels "
                "are those of the dataset.")
    if dataset.test_from_train:
        return (f"{count:,} trusted examples, drawn from the labels in doubt: some of them may be wrong themselves, "
                "and the scores and the test accuracy with them.")
    return f"{count:,} trusted examples, drawn from your own {dataset.test_origin}, whose labels count as verified."


def in_turn_sentence(count: int, folds: int) -> str:
    """That no label is trusted, as a sentence that stands wherever results do."""
    return (f"No label is trusted: each of {count:,} is judged by {folds - 1} model{'s' if folds > 2 else ''}, which "
            f"measure with the one of {folds} parts of the labels in doubt that they were not trained on.")
