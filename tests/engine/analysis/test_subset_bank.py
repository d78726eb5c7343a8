"""Banks of models on subsets: what is kept is not trained again, and values read off them are those by definition."""

import itertools
import math

import numpy as np
import pytest

from engine.analysis import subset_bank
from engine.analysis.data_values import banzhaf, shapley
from engine.analysis.datamodels import retrain, retrain_members, subsets
from engine.analysis.subset_bank import Draw, bank
from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.options import Options
from engine.store.results import Store
from tests.engine.problems_for_tests import problem
from tests.engine.single_thread import one_thread  # noqa: F401


def counted(monkeypatch):
    rows = []
    monkeypatch.setattr(subset_bank, "retrain_members", lambda asked, members, *rest: (
        rows.append(len(members)), retrain_members(asked, members, *rest))[1])
    return rows


def test_models_are_kept_once_and_a_larger_draw_begins_with_them(tmp_path, monkeypatch):
    small, store, rows = problem(n=40, candidates=range(12)), Store(tmp_path), counted(monkeypatch)
    first = bank(small, Draw(count=20), store)
    assert rows == [10, 10]
    again, larger = bank(small, Draw(count=20), store), bank(small, Draw(count=34), store)
    assert rows == [10, 10, 10, 4]
    np.testing.assert_array_equal(again.logits, first.logits)
    np.testing.assert_array_equal(larger.logits[:20], first.logits)
    np.testing.assert_array_equal(larger.members, subsets(12, 34))
    expected = retrain(small, larger.members)
    np.testing.assert_allclose(larger.outcomes("soft_margin"), expected.outcomes("soft_margin"), atol=1e-9)


@pytest.mark.parametrize("other", [{"l2": 0.02}, {"seed": 1}, {"candidates": range(11)}])
def test_another_problem_has_models_of_its_own(tmp_path, monkeypatch, other):
    store, rows = Store(tmp_path), counted(monkeypatch)
    bank(problem(n=40, candidates=range(12)), Draw(count=3), store)
    bank(problem(**{"n": 40, "candidates": range(12), **other}), Draw(count=3), store)
    bank(problem(n=40, candidates=range(12)), Draw(count=3, seed=1), store)
    assert rows == [3, 3, 3]


def test_a_bank_that_was_interrupted_goes_on(tmp_path, monkeypatch):
    small, store, rows = problem(n=40, candidates=range(12)), Store(tmp_path), counted(monkeypatch)
    told = []

    def stop(share):
        told.append(share)
        if share > 0.4:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        bank(small, Draw(count=30), store, Options(progress=stop))
    before = len(rows)
    bank(small, Draw(count=30), store)
    assert len(rows) < 2 * before + 3 and sum(rows) <= 40


def test_draws():
    halves, paired = Draw(kind="halves", count=400).membership(9), Draw(kind="shapley", count=2002).membership(9)
    assert abs(halves.mean() - 0.5) < 0.05
    np.testing.assert_array_equal(Draw(kind="halves", count=50).membership(9), halves[:50])
    np.testing.assert_array_equal(Draw(kind="shapley", count=51).membership(9), paired[:51])
    assert paired[0].all() and not paired[1].any()
    np.testing.assert_array_equal(paired[2::2], ~paired[3::2])
    sizes = np.bincount(paired[2:].sum(1), minlength=9)[1:9] / 2000
    expected = 1 / (np.arange(1, 9) * np.arange(8, 0, -1))
    np.testing.assert_allclose(sizes, expected / expected.sum(), atol=0.04)
    with pytest.raises(InvalidInput, match="With a single candidate, subsets"):
        Draw(kind="halves").membership(1)


def by_definition(value, k):
    """(k,) Shapley and Banzhaf values by adding up every subset of the others."""
    found = np.zeros((2, k))
    for place in range(k):
        others = [one for one in range(k) if one != place]
        for size in range(k):
            for chosen in itertools.combinations(others, size):
                gain = value({*chosen, place}) - value(set(chosen))
                found[0, place] += math.factorial(size) * math.factorial(k - size - 1) / math.factorial(k) * gain
                found[1, place] += gain / 2 ** (k - 1)
    return found


def test_values_are_those_by_definition():
    """Of a game whose every subset is asked: for Shapley in the numbers that the kernel gives them."""
    k, rng = 5, np.random.default_rng(0)
    every = np.array(list(itertools.product([False, True], repeat=k)))
    worth = {row.tobytes(): rng.normal() for row in every}
    value = lambda chosen: worth[np.isin(np.arange(k), list(chosen)).tobytes()]  # noqa: E731
    expected = by_definition(value, k)
    outcomes = np.array([worth[row.tobytes()] for row in every])[None]
    np.testing.assert_allclose(banzhaf(outcomes, every).values[0], expected[1], atol=1e-12)
    sizes = every.sum(1)
    weight = {1: 6, 2: 4, 3: 4, 4: 6}  # 1/(s(k − s)) · the number of subsets a size is spread over, in whole numbers
    weight = {size: round(60 / (math.comb(k, size) * size * (k - size))) for size in weight}
    inner = np.concatenate([np.repeat(every[sizes == size], times, 0) for size, times in weight.items()])
    kept = np.concatenate([every[sizes == k], every[sizes == 0], inner])
    outcomes = np.array([worth[row.tobytes()] for row in kept])[None]
    np.testing.assert_allclose(shapley(outcomes, kept).values[0], expected[0], atol=1e-12)


def test_banzhafs_standard_error_is_that_of_two_means():
    rng = np.random.default_rng(1)
    kept, outcomes = rng.random((30, 4)) < 0.5, rng.normal(size=(2, 30))
    found = banzhaf(outcomes, kept)
    inside, outside = outcomes[1, kept[:, 2]], outcomes[1, ~kept[:, 2]]
    assert found.values[1, 2] == pytest.approx(inside.mean() - outside.mean())
    assert found.error[1, 2] == pytest.approx(math.sqrt(inside.var(ddof=1) / len(inside)
                                                        + outside.var(ddof=1) / len(outside)))


def test_what_cannot_be_read_off():
    kept = Draw(kind="share", count=8).membership(4)
    outcomes = np.zeros((1, 8))
    with pytest.raises(InvalidInput, match="kind `shapley`"):
        shapley(outcomes, kept)
    with pytest.raises(InvalidInput, match="do not determine"):
        shapley(np.zeros((1, 4)), Draw(kind="shapley", count=4).membership(20))
    with pytest.raises(InvalidInput, match="in almost none"):
        banzhaf(outcomes, np.ones((8, 4), bool))
    with pytest.raises(InvalidInput, match="have mismatched shapes"):
        banzhaf(outcomes[:, :5], kept)
