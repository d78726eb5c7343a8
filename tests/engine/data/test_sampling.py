"""The seeded draw: content, determinism, prefixes, and sizes that are not available."""

import dataclasses

import numpy as np
import pytest

from engine.basics.errors import InvalidInput
from engine.data import digits, draw

INDICES = ("train_index", "test_index", "query_index", "candidates")
SIZES = {"n_train": 200, "n_test": 100, "n_queries": 40, "n_candidates": 50}


@pytest.fixture(scope="module")
def data():
    return digits.load()


def test_sample_is_what_its_indices_say(data):
    s = draw(data, **SIZES, seed=1)
    assert np.array_equal(s.x_train, data.x_train[s.train_index])
    assert np.array_equal(s.y_train, data.y_train[s.train_index])
    assert np.array_equal(s.x_test, data.x_test[s.test_index])
    assert np.array_equal(s.y_test, data.y_test[s.test_index])
    assert np.array_equal(s.x_query, data.x_test[s.query_index])
    assert np.array_equal(s.y_query, data.y_test[s.query_index])
    assert s.x_train.shape == (200, 64) and s.x_test.shape == (100, 64) and s.x_query.shape == (40, 64)
    assert s.candidates.shape == (50,) and s.candidates.max() < 200 and s.candidates.dtype == np.int64
    assert s.seed == 1


def test_nothing_is_drawn_twice(data):
    s = draw(data, **SIZES, seed=2)
    for index in (s.train_index, s.test_index, s.query_index, s.candidates):
        assert len(np.unique(index)) == len(index)
    assert set(s.query_index) <= set(s.test_index)


def test_none_takes_all(data):
    s = draw(data, seed=0)
    assert np.array_equal(np.sort(s.train_index), np.arange(1297))
    assert np.array_equal(np.sort(s.candidates), np.arange(1297))
    assert np.array_equal(s.query_index, s.test_index) and len(s.test_index) == 500


def test_same_seed_same_sample_and_other_seed_other_sample(data):
    a, b, c = draw(data, **SIZES, seed=3), draw(data, **SIZES, seed=3), draw(data, **SIZES, seed=4)
    assert a.dataset is b.dataset is data
    for name in ("x_train", "y_train", "x_test", "y_test", "x_query", "y_query", *INDICES):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    for name in ("train_index", "test_index", "candidates"):
        assert not np.array_equal(getattr(a, name), getattr(c, name)), name


@pytest.mark.parametrize("size, index", [
    ("n_train", "train_index"), ("n_test", "test_index"), ("n_queries", "query_index"), ("n_candidates", "candidates"),
])  # fmt: skip
def test_smaller_is_a_prefix_and_leaves_the_rest_alone(data, size, index):
    large, small = draw(data, **SIZES, seed=5), draw(data, **(SIZES | {size: SIZES[size] - 10}), seed=5)
    assert np.array_equal(getattr(small, index), getattr(large, index)[: SIZES[size] - 10])
    others = {"train_index", "test_index", "query_index", "candidates"} - {index}
    if size == "n_train":
        others -= {"candidates"}
    for other in others - ({"query_index"} if size == "n_test" else set()):
        assert np.array_equal(getattr(small, other), getattr(large, other)), other


def test_streams_are_independent(data):
    s = draw(data, n_train=500, n_test=500, n_candidates=500, seed=6)
    assert not np.array_equal(s.train_index.argsort(), s.test_index.argsort())
    assert not np.array_equal(s.candidates, s.test_index)
    fewer = dataclasses.replace(data, raw_test=data.raw_test[:7], y_test=data.y_test[:7])
    other = draw(fewer, n_train=500, n_candidates=500, seed=6)
    assert np.array_equal(other.train_index, s.train_index) and np.array_equal(other.candidates, s.candidates)


def test_classes_of_the_whole_dataset_are_kept(data):
    s = draw(data, n_train=3, n_test=1, seed=0)
    assert len(set(s.y_train)) < 10 and s.n_classes == 10


def test_candidates_of_the_source_are_kept_to(data):
    offered = np.arange(0, 1297, 10)
    s = draw(dataclasses.replace(data, candidates=offered), n_train=600, seed=0)
    assert set(s.train_index[s.candidates]) == set(offered) & set(s.train_index)


def test_no_offered_candidate_was_drawn(data):
    missed = np.setdiff1d(np.arange(1297), draw(data, n_train=50, seed=0).train_index)
    with pytest.raises(InvalidInput, match="no candidates"):
        draw(dataclasses.replace(data, candidates=missed), n_train=50, seed=0)


@pytest.mark.parametrize("sizes, said", [
    ({"n_train": 1298}, "only 1,297 training examples"),
    ({"n_test": 501}, "only 500 test examples"),
    ({"n_test": 20, "n_queries": 21}, "only 20 sampled test examples"),
    ({"n_train": 30, "n_candidates": 31}, "only 30 candidates"),
    ({"n_train": 0}, "whole number from 1 to 1,297"),
    ({"n_queries": -1}, "whole number from 1 to 500"),
    ({"n_test": 2.5}, "whole number"),
    ({"n_candidates": True}, "whole number"),
    ({"n_candidates": "ten"}, "whole number"),
    ({"n_train": 1}, "of one class"),
    ({"seed": -1}, "at least 0"),
    ({"seed": 1.5}, "at least 0"),
])  # fmt: skip
def test_refused_sizes(data, sizes, said):
    with pytest.raises(InvalidInput, match=said) as caught:
        draw(data, **sizes)
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
