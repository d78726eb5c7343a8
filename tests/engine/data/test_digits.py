"""The embedded default dataset."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from engine.basics.errors import InvalidInput
from engine.data import digits, load


@pytest.fixture(scope="module")
def data():
    return digits.load()


def test_shapes_types_and_range(data):
    assert data.x_train.shape == (1297, 64) and data.x_test.shape == (500, 64)
    assert data.x_train.dtype == np.float64 and data.y_train.dtype == np.int64
    assert data.x_train.min() == 0.0 and data.x_train.max() == 1.0
    assert data.class_names == tuple("0123456789") and data.n_classes == 10 and data.n_features == 64


def test_split_is_a_partition_of_scikit_learns_digits(data):
    bunch = load_digits()
    ours = np.vstack([np.c_[data.x_train * 16, data.y_train], np.c_[data.x_test * 16, data.y_test]])
    theirs = np.c_[bunch.data, bunch.target]
    assert np.array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])


def test_split_is_stratified(data):
    share = np.bincount(data.y_test) / (np.bincount(data.y_test) + np.bincount(data.y_train))
    assert np.allclose(share, 500 / 1797, atol=0.005)


def test_every_load_is_the_same(data):
    assert digits.load().fingerprint == data.fingerprint
    assert len(data.fingerprint) == 64


def test_image_is_the_row_stretched_to_eight_bits(data):
    image = data.image("train", 3)
    assert image.shape == (8, 8) and image.dtype == np.uint8
    assert np.abs(image.reshape(-1) / 255 - data.x_train[3]).max() <= 0.5 / 255 + 1e-12
    with pytest.raises(InvalidInput, match="0 to 499"):
        data.image("test", 500)
    with pytest.raises(InvalidInput, match="`train` or `test`"):
        data.image("valid", 0)


def test_shared_arrays_cannot_be_changed():
    data = load("digits")
    with pytest.raises(ValueError, match="read-only"):
        data.y_train[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        data.raw_train[0] = 1
