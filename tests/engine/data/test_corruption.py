"""Symmetric noise: exact share, never the right class, fixed and nested masks; the trusted set is balanced."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.basics.errors import InvalidInput
from engine.data.corruption import confusing_noise, symmetric_noise, trusted_rows

LABELS = np.arange(4_000) % 5


@given(st.floats(0, 0.99), st.integers(0, 50))
def test_the_share_is_exact_and_every_corrupted_label_is_wrong(rate, seed):
    observed, flags = symmetric_noise(LABELS, 5, rate, seed)
    assert flags.noisy.sum() == round(rate * len(LABELS))
    np.testing.assert_array_equal(observed != LABELS, flags.noisy)
    np.testing.assert_array_equal(flags.labels, LABELS)


def test_every_other_class_is_as_likely():
    observed, flags = symmetric_noise(LABELS, 5, 0.8, 0)
    shifts = np.bincount((observed - LABELS)[flags.noisy] % 5, minlength=5)
    assert shifts[0] == 0 and (abs(shifts[1:] - 800) < 4 * np.sqrt(800 * 0.75)).all()


def test_masks_are_fixed_and_nested():
    low, high = (symmetric_noise(LABELS, 5, rate, 3) for rate in (0.1, 0.3))
    assert high[1].noisy[low[1].noisy].all()
    np.testing.assert_array_equal(low[0][low[1].noisy], high[0][low[1].noisy])
    np.testing.assert_array_equal(low[0], symmetric_noise(LABELS, 5, 0.1, 3)[0])
    assert (low[0] != symmetric_noise(LABELS, 5, 0.1, 4)[0]).any()


@pytest.mark.parametrize("rate", [-0.01, 1.0, 1.5, float("nan")])
def test_a_rate_outside_zero_to_one(rate):
    with pytest.raises(InvalidInput, match="noise rate is .*; give a number from 0"):
        symmetric_noise(LABELS, 5, rate, 0)


def test_one_class():
    with pytest.raises(InvalidInput, match="With a single class"):
        symmetric_noise(np.zeros(4, dtype=int), 1, 0.5, 0)


def test_the_trusted_set_is_balanced_and_apart():
    trusted, rest = trusted_rows(LABELS, 5, 30, 0)
    assert (np.bincount(LABELS[trusted]) == 30).all()
    np.testing.assert_array_equal(np.sort(np.concatenate([trusted, rest])), np.arange(len(LABELS)))
    smaller, _ = trusted_rows(LABELS, 5, 10, 0)
    assert set(smaller) < set(trusted)


def test_a_class_that_is_missing_or_scarce():
    with pytest.raises(InvalidInput, match="Class 5 has 0 verified examples, fewer than the 1"):
        trusted_rows(LABELS, 6, 1, 0)


def test_confusing_noise_gives_the_class_whose_mean_is_nearest():
    x = np.random.default_rng(0).normal(size=(90, 3))
    labels = np.arange(90) % 3
    observed, flags = confusing_noise(x, labels, 4, 0.2, seed=5)
    np.testing.assert_array_equal(flags.noisy, symmetric_noise(labels, 4, 0.2, 5)[1].noisy)
    means = {label: x[labels == label].mean(0) for label in range(3)}
    for row in range(90):
        others = [label for label in means if label != labels[row]]
        nearest = min(others, key=lambda label: np.linalg.norm(x[row] - means[label]))
        assert observed[row] == (nearest if flags.noisy[row] else labels[row])
