"""scikit-learn's handwritten digits: 8 × 8 pixels, inside the package, the default that needs no download."""

from __future__ import annotations

import numpy as np

from engine.data.dataset import Dataset

N_TEST = 500


def load() -> Dataset:
    """The 1,797 digits in a fixed stratified split, 1,297 train and 500 test; features are pixels / 16, d = 64."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch = load_digits()
    raw = bunch.data.astype(np.uint8)
    train, test = train_test_split(np.arange(len(raw)), test_size=N_TEST, stratify=bunch.target, random_state=0)
    labels = bunch.target.astype(np.int64)
    return Dataset(
        name="digits", title="Handwritten digits", raw_train=raw[train], y_train=labels[train], raw_test=raw[test],
        y_test=labels[test], class_names=tuple(map(str, bunch.target_names)), image_shape=(8, 8), scale=16.0,
        note="1,297 training and 500 test images of 8 × 8 pixels divided by 16, from the UCI optical recognition "
        "of handwritten digits data in scikit-learn (CC BY 4.0).")


def available() -> tuple[bool, str]:
    """Always there."""
    return True, "Part of scikit-learn; no file is needed."
