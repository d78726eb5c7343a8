"""Spearman, rank-biased overlap and Jaccard against SciPy and loops over the definitions."""

import math
import warnings

import numpy as np
import pytest
from scipy.stats import spearmanr

from engine.analysis.comparison import compare
from engine.basics.errors import InvalidInput
from engine.metrics.agreement import FURTHER, METRICS, pairwise, top_size
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from tests.engine.problems_for_tests import problem
from tests.engine.single_thread import one_thread  # noqa: F401

KINDS = ("continuous", "ties", "constant", "infinite")


def scores(kind, k, queries=5, seed=0):
    rng = np.random.default_rng([seed, k])
    values = rng.normal(size=(queries, k))
    if kind == "ties":
        values = np.round(values)
    if kind == "constant":
        values[1] = 3.0
    if kind == "infinite":
        values[:, :2] = np.inf
    return values


def order(row):
    return sorted(range(len(row)), key=lambda c: (-row[c], c))


def naive_spearman(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [spearmanr(x, y).statistic if len(x) > 1 else math.nan for x, y in zip(a, b, strict=True)]


def naive_rbo(a, b, fraction):
    found = []
    for x, y in zip(a, b, strict=True):
        k, p = len(x), 1 - 1 / top_size(len(x), fraction)
        first, second = order(x), order(y)
        found.append(p**k + sum((1 - p) * p ** (d - 1) * len(set(first[:d]) & set(second[:d])) / d
                                for d in range(1, k + 1)))
    return found


def naive_jaccard(a, b, fraction):
    tops = [[set(order(row)[:top_size(len(row), fraction)]) for row in side] for side in (a, b)]
    return [len(x & y) / len(x | y) for x, y in zip(*tops, strict=True)]


@pytest.mark.grid(2)
@pytest.mark.parametrize("k", [1, 2, 3, 9, 64, 257])
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_matches_the_references(first, second, k):
    a, b = scores(first, k), scores(second, k, seed=1)
    found = pairwise([a, b], tuple(FURTHER), fraction=0.1)
    np.testing.assert_allclose(found["spearman_rho"][0, 1], naive_spearman(a, b), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["rank_biased_overlap"][0, 1], naive_rbo(a, b, 0.1), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["top_jaccard"][0, 1], naive_jaccard(a, b, 0.1), rtol=0, atol=1e-15)


def test_by_hand():
    a, b = np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[3.0, 4.0, 1.0, 2.0]])
    found = pairwise([a, b], ("spearman", "rbo", "jaccard"), fraction=0.5)
    assert found["spearman"][0, 1, 0] == pytest.approx(1 - 6 * 4 / (4 * 15))
    assert found["rbo"][0, 1, 0] == pytest.approx(0.0625 + 0.25 * 1 + 0.125 * 2 / 3 + 0.0625 * 1)  # p = ½
    assert found["jaccard"][0, 1, 0] == 1.0


def test_equal_and_reversed():
    a = scores("continuous", 100)
    found = pairwise([a, a, -a], tuple(FURTHER))
    assert all((values[0, 1] == 1).all() for values in found.values())
    assert (found["spearman_rho"][0, 2] == -1).all() and (found["top_jaccard"][0, 2] == 0).all()


def test_unrelated_scores_reach_the_chance_level():
    stack = np.random.default_rng(0).normal(size=(2, 600, 120))
    for name, values in pairwise(stack, tuple(FURTHER), fraction=0.1).items():
        unrelated, metric = values[0, 1], FURTHER[name]
        assert metric.name == name and metric.definition.endswith(".")
        assert abs(unrelated.mean() - metric.chance(120, 0.1)) < 4 * unrelated.std() / math.sqrt(len(unrelated))


@pytest.mark.parametrize("block", [1, 200, 10**9])
def test_blocks_change_nothing(block):
    stack = np.stack([scores(kind, 33, queries=17, seed=place) for place, kind in enumerate(KINDS)])
    whole = pairwise(stack, tuple(FURTHER))
    for name, values in pairwise(stack, tuple(FURTHER), block=block).items():
        np.testing.assert_allclose(values, whole[name], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(values, values.transpose(1, 0, 2))


def test_a_comparison_has_its_three_metrics_and_more_where_they_are_asked_for():
    small = problem(n=30, candidates=range(20))
    found = [compute(small, [NAMED[name].implied() for name in ("gradsim", "loo")])]
    assert tuple(compare(found).per_query) == tuple(METRICS)
    more = compare(found, metrics=(*METRICS, *FURTHER))
    assert list(dict.fromkeys(more.table().metric)) == [*METRICS, *FURTHER]
    values = [scores.oriented for scores in found[0]]
    np.testing.assert_allclose(more.per_query["spearman_rho"][0, 0, 1], naive_spearman(*values), atol=1e-12)
    with pytest.raises(InvalidInput, match="There is no agreement metric"):
        compare(found, metrics=("pearson",))
