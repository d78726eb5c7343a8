"""Planted poisons: which pictures and labels change, and how."""

import numpy as np
import pytest

from engine import data
from engine.basics.errors import InvalidInput
from engine.data import fashion_small, poisoned

PICTURES = np.random.default_rng(0).integers(0, 200, (60, 9, 9), dtype=np.uint8)
LABELS = np.arange(60) % 3


def test_a_patch_comes_with_the_targets_label():
    made = poisoned.patch(PICTURES, LABELS, 10, 1, 0)
    assert made.poisoned.sum() == 10 and (LABELS[made.poisoned] != 1).all() and (made.labels[made.poisoned] == 1).all()
    assert (made.pictures[made.poisoned][:, 5:8, 5:8] == 255).all()
    changed = made.pictures != PICTURES
    assert not changed[~made.poisoned].any() and not changed[:, :5].any() and not changed[:, 8].any()
    assert (made.labels[~made.poisoned] == LABELS[~made.poisoned]).all()


def test_more_poisons_than_pictures_are_refused():
    with pytest.raises(InvalidInput, match="41 poisons"):
        poisoned.patch(PICTURES, LABELS, 41, 2, 0)


def test_the_extract_with_a_backdoor_says_which_pictures_are_planted():
    planted, clean = data.load(poisoned.NAME), fashion_small.load()
    assert planted.flags.sum() == poisoned.POISONS and (planted.y_train[planted.flags] == poisoned.TARGET).all()
    assert (planted.raw_train[~planted.flags] == clean.raw_train[~planted.flags]).all()
    assert len(planted.y_test) == 500 + poisoned.TRIGGERED and (planted.y_test[500:] != poisoned.TARGET).all()
