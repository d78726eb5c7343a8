"""How many examples may be trusted, searched and tested."""

import pytest

from engine import data
from engine.applications.noisy_labels import limits


@pytest.fixture(scope="module")
def digits():
    return data.load("digits")


def test_half_of_the_scarcest_class_of_the_verified_split(digits):
    counted = {own: min((labels == label).sum() for label in range(10))
               for own, labels in ((False, digits.y_train), (True, digits.y_test))}
    for own, scarcest in counted.items():
        assert limits.most_trusted(digits, own) == scarcest // 2


def test_trusted_examples_are_taken_from_the_split_that_is_verified(digits):
    assert limits.most_searched(digits, False, 5) == len(digits.y_train) - 50
    assert limits.most_searched(digits, True, 5) == len(digits.y_train)
    assert limits.most_tested(digits, True, 5) == len(digits.y_test) - 50
    assert limits.most_tested(digits, False, 5) == len(digits.y_test)
    assert limits.most_tested(digits, True, 10**6) == 1
