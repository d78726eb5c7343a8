"""Confident learning's order, and probabilities by models that did not see the example."""

import numpy as np

from engine.applications.noisy_labels.detectors.probabilities import confident_learning
from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.scoring import suspicions
from engine.basics.options import Options
from tests.engine.applications.noisy_labels.sources import RECIPE, drawn, model


def test_confident_learning_puts_the_confident_joint_s_off_diagonal_first():
    # by hand: the threshold of a class is the mean p of it over its own examples, 0.65 and 0.7; only the third
    # example is above the threshold of the other class (0.8 ≥ 0.7)
    p = np.array([[0.9, 0.1], [0.85, 0.15], [0.2, 0.8], [0.3, 0.7], [0.35, 0.65], [0.25, 0.75]])
    labels = np.array([0, 0, 0, 1, 1, 1])
    found = confident_learning(labels, p)
    assert found.argmax() == 2 and found[2] == 1.8
    np.testing.assert_allclose(np.delete(found, 2), [0.1, 0.15, 0.3, 0.35, 0.25])


def test_it_takes_labels_that_miss_a_class():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 40)
    labels = np.random.default_rng(1).choice([0, 2, 3], 40)
    assert np.isfinite(confident_learning(labels, p)).all()


def test_probabilities_out_of_fold():
    setting = {"model": "mlp", "n_train": 600, "recipe": RECIPE.model_copy(update={"epochs": 12})}
    trained = model(**setting)
    p = trained.refitting.out_of_fold(Options())
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-5)
    wrong, flags = p.argmax(1) != drawn(**setting).evidence.y, drawn(**setting).flags.noisy
    assert wrong[flags].mean() > 0.85 and wrong[~flags].mean() < 0.3
    without = trained.refitting.out_of_fold(Options(), (~flags).astype(float))
    assert (without.argmax(1) != drawn(**setting).evidence.y)[~flags].mean() < wrong[~flags].mean()


def test_random_is_a_permutation_of_its_seeds():
    found = suspicions(model(), ("random",))[Pair("Random")]
    assert sorted(found) == list(range(len(found)))
    other = suspicions(model(seed=1), ("random",))[Pair("Random")]
    assert (found != other).any()
