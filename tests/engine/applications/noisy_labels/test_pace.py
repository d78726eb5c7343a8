"""The pace of a review, with numbers by hand."""

import numpy as np

from engine.applications.decisions import FINE, WRONG, Decision
from engine.applications.noisy_labels.pace import pace


def test_rate_of_the_last_twenty_and_what_is_left():
    made = {row: Decision(row, WRONG if row < 12 or row == 29 else FINE, at=1_000.0 + 2 * row) for row in range(30)}
    made[30] = Decision(30, FINE, at=9_000.0)  # after a break
    found = pace(made, range(100))
    assert (found.decided, found.found, found.wrong, found.of, found.left) == (31, 13, 2, 20, 69)
    assert found.seconds == 58.0 and found.each == 2.0 and np.isclose(found.expected, 6.9)
    n, p, z = 20, 0.1, 1.959964
    middle, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert np.allclose(found.interval, [middle - half / (1 + z * z / n), middle + half / (1 + z * z / n)])
    assert pace({}, [1, 2]) is None and pace({1: Decision(1, FINE, at=3.0)}, [2, 3]) is None
    assert np.isnan(pace({1: Decision(1, FINE, at=3.0)}, [1, 3]).each)
