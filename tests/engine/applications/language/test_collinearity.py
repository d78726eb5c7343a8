"""Cosines of mean query gradients against loops over queries."""

import math

import numpy as np

from engine.applications.language.collinearity import cosines
from engine.gradients.cached import CachedCheckpoint, CachedFeatures

RNG = np.random.default_rng(0)
NAMES = ("response_loss", "explanation_loss", "answer_margin")


def features(*points):
    records = np.ones((3, 4), np.float32)
    held = tuple(CachedCheckpoint(1.0, records, records, queries) for queries in points)
    return CachedFeatures(held, np.ones(3), np.ones(3), {1.0: records}, {1.0: np.ones((5, 4))})


def naive(first, second):
    """Sums by hand: the lengths of the means cancel against those of the sums."""
    one, two = [sum(row[k] for row in first) for k in range(4)], [sum(row[k] for row in second) for k in range(4)]
    product = sum(a * b for a, b in zip(one, two, strict=True))
    return product / math.sqrt(sum(a * a for a in one) * sum(b * b for b in two))


def test_each_pair_at_each_checkpoint():
    points = [{name: RNG.normal(size=(5, 4)).astype(np.float32) for name in NAMES} for _ in range(2)]
    rows = cosines(features(*points))
    assert [row["behaviors"] for row in rows] == [["Response loss", "Explanation loss"],
                                                  ["Response loss", "Answer margin"],
                                                  ["Explanation loss", "Answer margin"]]
    for row, pair in zip(rows, ((0, 1), (0, 2), (1, 2)), strict=True):
        wanted = [naive(*(point[NAMES[index]] for index in pair)) for point in points]
        np.testing.assert_allclose(row["cosine"], wanted, rtol=1e-6)


def test_a_multiple_is_collinear_an_opposite_is_minus_one_and_nothing_has_none():
    one = RNG.normal(size=(5, 4)).astype(np.float32)
    row, opposite, none = cosines(features({NAMES[0]: one, NAMES[1]: 3 * one[::-1], NAMES[2]: -one}))[:2] + cosines(
        features({NAMES[0]: one, NAMES[1]: 0 * one}))
    np.testing.assert_allclose([row["cosine"][0], opposite["cosine"][0]], [1.0, -1.0], rtol=1e-6)
    assert math.isnan(none["cosine"][0])
