"""The dataset value: conversion, pictures and the fingerprint."""

import dataclasses

import numpy as np
import pytest

from engine.basics.errors import InvalidInput
from engine.data.dataset import Dataset, digest


def small(**changes):
    fields = {
        "name": "small", "title": "Small",
        "raw_train": np.arange(24, dtype=np.uint8).reshape(2, 12), "y_train": np.array([0, 1]),
        "raw_test": np.full((1, 12), 255, dtype=np.uint8), "y_test": np.array([1]),
        "class_names": ("a", "b"), "image_shape": (2, 2, 3), "scale": 255.0,
    }  # fmt: skip
    return Dataset(**(fields | changes))


def test_features_are_raw_over_scale_and_new_each_time():
    data = small()
    assert np.array_equal(data.x_train, np.arange(24).reshape(2, 12) / 255.0)
    assert np.array_equal(data.features("train", np.array([1])), data.x_train[[1]])
    features = data.x_train
    features[:] = 7
    assert data.x_train.max() < 1


def test_an_unscaled_float_dataset_is_copied_too():
    data = small(raw_train=np.ones((2, 12)), raw_test=np.ones((1, 12)), scale=1.0, image_shape=None)
    data.x_train[:] = 5
    assert data.x_train.max() == 1.0
    assert data.image("train", 0) is None


def test_color_picture():
    assert np.array_equal(small().image("train", 1), np.arange(12, 24, dtype=np.uint8).reshape(2, 2, 3))


@pytest.mark.parametrize("change", [
    {"raw_train": np.arange(1, 25, dtype=np.uint8).reshape(2, 12)},
    {"y_train": np.array([1, 0])},
    {"y_test": np.array([0])},
    {"raw_test": np.zeros((1, 12), dtype=np.uint8)},
    {"scale": 254.0},
    {"candidates": np.array([0])},
])  # fmt: skip
def test_fingerprint_sees_every_array(change):
    assert small(**change).fingerprint != small().fingerprint


def test_fingerprint_ignores_layout_and_names():
    assert small(raw_train=np.asfortranarray(small().raw_train)).fingerprint == small().fingerprint
    assert dataclasses.replace(small(), title="Other").fingerprint == small().fingerprint


def test_digest_tells_shapes_and_types_apart():
    zeros = np.zeros(4)
    assert len({digest(zeros), digest(zeros.reshape(2, 2)), digest(zeros.astype(np.int64)),
                digest(zeros[:2], zeros[2:]), digest(np.zeros(0))}) == 5  # fmt: skip
    assert digest(zeros.astype(">f8")) == digest(zeros)


def test_labels_have_to_match():
    with pytest.raises(InvalidInput, match="2 examples but 3 labels"):
        small(y_train=np.array([0, 1, 1]))
