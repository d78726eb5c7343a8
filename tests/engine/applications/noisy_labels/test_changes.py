"""Removed and corrected labels against what is known of them."""

import numpy as np

from engine.applications.noisy_labels.changes import Truth, truth
from engine.data.corruption import Flags

NOISY = np.array([True, False, True, False])


def test_wrong_labels_and_restored_ones_are_counted():
    flags = Flags(NOISY, np.array([1, 2, 3, 4]))
    assert truth(flags, [0, 1], {2: 3}) == Truth(changed=3, wrong=2, restored=1)
    assert truth(flags, [0], {2: 9}) == Truth(2, 2, 0)
    assert truth(flags, [1], {}) == Truth(1, 0, None)


def test_without_the_labels_before_no_correction_is_judged():
    assert truth(Flags(NOISY), [0], {2: 3}) == Truth(2, 2, None)


def test_nothing_is_told_where_nobody_knows():
    assert truth(None, [0], {}) is None
    assert truth(Flags(np.zeros(4, dtype=bool)), [0], {}) is None
