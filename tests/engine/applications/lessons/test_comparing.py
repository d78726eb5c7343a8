"""What the lessons read off two scores, by brute force."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.applications.lessons import comparing
from engine.scoring.compute import compute
from tests.engine.problems_for_tests import problem

SIZE = 4


@pytest.fixture(scope="module")
def small():
    return problem(n=40, queries=6)


@pytest.fixture(scope="module")
def pair(small):
    return compute(small, [comparing.step(behavior) for behavior in ("query_loss", "hard_margin")])


def test_the_doubtful_query_has_the_probability_nearest_to_one_half(small):
    distances = [abs(comparing.probability(small, query) - 0.5) for query in range(6)]
    assert comparing.doubtful(small) == int(np.argmin(distances)) and max(distances) > min(distances)


def test_mean_tau_leaves_out_what_did_not_converge(pair):
    first, second = pair
    converged = first.converged.copy()
    converged[:10] = False
    doubted = replace(first, values=np.where(converged, first.values, 1e9 * np.arange(40)), converged=converged)
    expected = np.mean([kendalltau(a, b).statistic for a, b in zip(first.oriented[:, 10:], second.oriented[:, 10:],
                                                                   strict=True)])
    assert comparing.mean_tau(doubted, second) == pytest.approx(expected)


def test_the_most_different_query_shares_the_fewest_of_the_first(pair):
    first, second = pair
    shared = [len(set(np.argsort(-a)[:SIZE]) & set(np.argsort(-b)[:SIZE]))
              for a, b in zip(first.oriented, second.oriented, strict=True)]
    assert shared[comparing.most_different(first, second, SIZE)] == min(shared) < max(shared)
