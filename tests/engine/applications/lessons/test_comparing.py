"""What the lessons read off two scores, by brute force."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.applications.lessons import comparing
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
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


def test_agreement_and_what_is_shared_by_counting(pair):
    first, second = pair
    found = comparing.agreement(first, second)
    assert found.tau == pytest.approx(comparing.mean_tau(first, second))
    a, b = first.oriented, second.oriented
    assert found.signs == pytest.approx(np.mean(np.sign(a) == np.sign(b)))
    sizes = [kendalltau(one, other).statistic for one, other in zip(abs(a), abs(b), strict=True)]
    assert found.sizes == pytest.approx(np.mean(sizes))
    expected = [len({*np.argsort(-one)[:SIZE]} & {*np.argsort(-other)[:SIZE]})
                for one, other in zip(a, b, strict=True)]
    assert comparing.shared(first, second, SIZE).tolist() == expected


def test_pushed_models_are_the_auxiliary_step(small):
    """One step on −f_w(x_k), its weights moved, against the closed form."""
    scoring = Scoring.of("query_logit", {"kind": "auxiliary"}, {"kind": "one_step", "eta": 0.3})
    expected = compute(small, scoring)[0].values
    for query in range(3):
        np.testing.assert_allclose(comparing.pushed(small, query, 0.3), expected[query], atol=1e-13)


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
