"""The study of poisons: its baselines find what their papers say they find, and its rows say what was measured."""

import numpy as np
import pytest

from engine.experiments import poison, poison_methods
from engine.experiments.poison import ALL, PREDICTED


@pytest.fixture(scope="module")
def planted():
    """Features of two classes; 6 of the 60 examples of class 1 lie far off in one direction."""
    rng = np.random.default_rng(0)
    features, labels = rng.normal(0, 0.3, (120, 6)), np.repeat([0, 1], 60)
    features[60:66, 2] += 8
    return features, labels, np.arange(60, 66)


@pytest.mark.parametrize("method", [poison_methods.spectral, poison_methods.clustering])
def test_what_lies_apart_in_its_class_comes_first(planted, method):
    features, labels, rows = planted
    scores = method(features, labels)
    own = np.flatnonzero(labels == 1)
    assert set(own[np.argsort(-scores[own])[:6]]) == set(rows)


def test_an_unlikely_label_is_suspicious():
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    np.testing.assert_allclose(poison_methods.unconfident(np.array([0, 1, 1]), p), [0.1, 0.2, 0.6])


class Held:
    """What `detection` reads of an attacked model: four examples, the last two of the target's label, one poisoned."""

    class problem:  # noqa: N801
        queries = range(10)

    class made:  # noqa: N801
        poisoned = np.array([False, False, False, True])
        labels = np.array([0, 0, 1, 1])

    target = 1


def test_rankings_are_measured_over_all_and_with_the_predicted_class_first():
    rows = {(row["among"], row["queries"], row["metric"]): row["value"]
            for row in poison.detection(Held, {"method": np.tile([0.9, 0.1, 0.2, 0.5], (10, 1))})}
    assert rows[ALL, 1, "AUPRC"] == 0.5 and rows[PREDICTED, 1, "AUPRC"] == 1
    assert rows[ALL, 5, "P@poisons"] == 0 and rows[PREDICTED, 5, "P@poisons"] == 1


def test_every_seed_and_attack_is_a_part():
    payload = poison.POISON.payload("small", seeds=2)
    assert poison.plan(payload) == ["0/patch, 1%", "0/patch, 0.5%", "1/patch, 1%", "1/patch, 0.5%"]
