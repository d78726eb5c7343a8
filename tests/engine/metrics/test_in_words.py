"""A word for a ranking: a table of numbers with the word or none, and that no word contradicts a number."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, multivariate_normal, norm

from engine.basics.errors import InvalidInput
from engine.metrics.agreement import MeanAgreement, kendall_tau, summarize, top_overlap, top_size
from engine.metrics.in_words import NAMES, chance_tau, expected_overlap, in_words

K = 1437
NONE = math.nan


def of(mean, ci95):
    return MeanAgreement(mean, ci95, 1, 50, 0, (mean,), "queries")


def said(tau, half, overlap, of_overlap=0.03, candidates=K):
    return in_words(of(tau, half), of(overlap, of_overlap), candidates)


@pytest.mark.parametrize(("tau", "half", "overlap", "word"), [
    (0.027, 0.010, 0.050, "hardly any common order"),
    (0.027, 0.010, 0.357, ""),              # the whole and the top say different things
    (-0.04, 0.020, 0.060, "hardly any common order"),
    (0.090, 0.030, 0.080, ""),              # the interval covers two ranges
    (0.200, 0.020, 0.130, "slightly the same order"),
    (0.450, 0.030, 0.300, "partly the same order"),
    (0.450, 0.030, 0.050, ""),              # a top that shares nothing more than chance
    (0.590, 0.030, 0.450, ""),
    (0.750, 0.020, 0.600, "mostly the same order"),
    (0.970, 0.010, 0.920, "nearly the same order"),
    (0.970, 0.010, 0.300, ""),
    (1.000, 0.000, 1.000, "nearly the same order"),
    (-0.750, 0.020, 0.000, "mostly the opposite order"),
    (-0.970, 0.010, 0.000, "nearly the opposite order"),
    (-0.970, 0.010, 0.400, ""),
    (0.600, 0.000, 0.520, "mostly the same order"),
    (0.750, NONE, 0.600, ""),               # no interval, no word
    (NONE, NONE, 0.600, ""),
])
def test_a_table_of_numbers_and_words(tau, half, overlap, word):
    assert said(tau, half, overlap).word == word


def test_both_are_said_where_the_whole_and_the_top_differ():
    found = said(0.027, 0.010, 0.357)
    assert found.apart and found.sentence == "τ = 0.027 ± 0.010, yet the top 5% shares 36% ± 3% (chance 5%)."
    assert "unrelated" not in found.sentence.lower()


def test_equal_rankings_without_any_spread_have_their_word():
    assert said(1.0, 0.0, 1.0, 0.0).word == said(1.0, 0.0, 1.0, 0.0, candidates=40).word == "nearly the same order"


def test_few_candidates_reach_far_by_chance():
    """τ of 8 unrelated candidates is up to 0.57 in 95% of the queries."""
    assert said(0.45, 0.02, 0.5, 0.3, candidates=8).word == ""
    assert said(0.45, 0.02, 0.3).word == "partly the same order"
    with pytest.raises(InvalidInput, match="no order among 1"):
        said(0.45, 0.02, 0.3, candidates=1)


@pytest.mark.parametrize("k", [8, 50])
def test_chance_is_what_random_orders_reach(k):
    rng = np.random.default_rng(0)
    drawn = [abs(kendalltau(rng.permutation(k), np.arange(k)).statistic) for _ in range(2000)]
    assert np.mean(np.array(drawn) > chance_tau(k)) == pytest.approx(0.05, abs=0.015)


@pytest.mark.parametrize("tau", [-0.5, 0.0, 0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_expected_overlap_is_the_normal_copula_s(tau, share):
    rho = math.sin(math.pi * tau / 2)
    z = norm.ppf(share)
    both = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([z, z])
    assert expected_overlap(tau, share) == pytest.approx(both / share, abs=1e-4)


def test_drawn_from_that_copula_the_top_fits_the_whole():
    rng = np.random.default_rng(1)
    for tau in (0.2, 0.45, 0.75, 0.95):
        rho = math.sin(math.pi * tau / 2)
        first = rng.standard_normal((40, 600))
        second = rho * first + math.sqrt(1 - rho ** 2) * rng.standard_normal((40, 600))
        found = in_words(summarize([kendall_tau(first, second)], "queries"),
                         summarize([top_overlap(first, second)], "queries"), 600)
        assert found.word and not found.apart


@settings(max_examples=200, deadline=None)
@given(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 1), st.floats(0, 0.3), st.integers(2, 3000))
def test_no_word_contradicts_a_number(tau, half, overlap, of_overlap, k):
    found = in_words(of(tau, half), of(overlap, of_overlap), k)
    assert re.search(r"τ = −?\d\.\d{3} ± ", found.sentence) and "chance" in found.sentence
    assert bool(found.word) == found.sentence.startswith(found.word[:1].upper() + found.word[1:] + ":")
    if not found.word:
        return
    assert not found.apart
    low, high = max(tau - half, -1), min(tau + half, 1)
    if found.word == NAMES[0.0]:
        assert low >= -0.1 and high <= 0.1
        assert overlap - of_overlap <= expected_overlap(0.1, top_size(k, 0.05) / k)
        return
    degree, ending = found.word.split()[0], found.word.split(" ", 1)[1]
    least = next(bound for bound, name in NAMES.items() if name.startswith(degree))
    sign = 1 if ending == "the same order" else -1
    assert min(sign * low, sign * high) >= least and abs(tau) > chance_tau(k), "the whole interval has this word"
    following = [bound for bound in NAMES if bound > least]
    assert not following or max(sign * low, sign * high) <= following[0], "and no stronger one"
    if sign > 0 and least >= 0.3:
        assert overlap + of_overlap > top_size(k, 0.05) / k - 1e-9, "the top agrees more than by chance"


def test_the_guide_has_these_ranges_and_words():
    guide = (Path(__file__).parents[3] / "assets" / "guides" / "explaining.md").read_text()
    bounds = [*NAMES, 1.0]
    for least, most in zip(bounds[1:-1], bounds[2:], strict=True):
        low, high = (50 * (1 + bound) for bound in (least, most))
        between, shares = (f"{least:g} and more", f"{low:g}% and more") if most == 1 else (
            f"{least:g} to {most:g}", f"{low:g} to {high:g}%")
        assert f"| {between} | {shares} | {NAMES[least].format('the same')} |" in guide
    assert f"| −{bounds[1]:g} to {bounds[1]:g} | 45 to 55% | {NAMES[0.0]} |" in guide
    assert said(0.027, 0.010, 0.357).sentence.rstrip(".") in guide
