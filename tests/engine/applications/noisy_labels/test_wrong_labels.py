"""How many labels are wrong: against cleanlab, a loop, and the truth of planted noise."""

import itertools

import numpy as np
import pytest

from engine import data
from engine.applications.noisy_labels.wrong_labels import Fraction, counted, flagged, sampled, verified
from engine.data import corruption


def planted(n=400, classes=4, wrong=40, seed=0):
    """Labels, probabilities of a fair model, and which labels are wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    flip = np.zeros(n, dtype=bool)
    flip[rng.permutation(n)[:wrong]] = True
    labels = np.where(flip, (truth + rng.integers(1, classes, n)) % classes, truth)
    logits = 1.5 * np.eye(classes)[truth] + rng.normal(size=(n, classes))
    return labels, np.exp(logits) / np.exp(logits).sum(1, keepdims=True), flip


@pytest.mark.parametrize("seed", range(3))
def test_what_is_flagged_is_what_cleanlab_counts(seed):
    from cleanlab.count import num_label_issues

    labels, p, _ = planted(seed=seed)
    assert flagged(labels, p).sum() == num_label_issues(labels, p)


def test_a_class_without_an_example_is_never_confident():
    labels, p, _ = planted()
    labels = np.where(labels == 3, 2, labels)
    assert np.isfinite(counted(labels, p, repeats=5).value)


def test_the_interval_of_the_count_is_that_of_resampled_examples():
    labels, p, _ = planted()
    rng, values = np.random.default_rng(5), []
    for _ in range(300):
        rows = rng.integers(0, 400, 400)
        values.append(flagged(labels[rows], p[rows]).mean())
    count = counted(labels, p, repeats=300)
    np.testing.assert_allclose([count.low, count.high], np.quantile(values, [0.025, 0.975]), atol=0.012)


@pytest.mark.parametrize(("wrong", "least"), [(0, 0.95), (20, 0.93), (120, 0.93)])
def test_the_interval_of_a_verified_sample_holds_the_truth(wrong, least):
    labels, p, flip = planted(wrong=wrong)
    flags, held = flagged(labels, p), 0
    for seed in range(200):
        rows, _ = sampled(labels, 60, 2, seed)
        known = verified(flags, rows, flip[rows])
        held += known.low <= wrong / 400 <= known.high
    assert held / 200 >= least


def test_by_hand():
    flags = np.array([True] * 10 + [False] * 90)
    rows, wrong = np.array([0, 1, 2, 3, 50, 51, 52, 53]), np.array([1, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
    assert verified(flags, rows, wrong).value == pytest.approx(0.1 * 0.75)
    assert verified(flags, rows[4:], wrong[4:]).high > 0.1  # nothing is known of what is flagged
    assert Fraction(0.1, 0.05, 0.2, 80).sentence(1_000) == (
        "100 of 1,000 labels (10.0%, 95% interval 5.0% to 20.0%)")


def test_a_sample_represents_the_classes_and_knows_no_suspicion():
    labels = np.repeat([0, 1, 2], [500, 480, 20])
    first, more = sampled(labels, 40, 3, 0)
    both = np.concatenate([first, more])
    assert len(first) == 40 and len(set(both)) == len(both) and np.bincount(labels[both]).min() >= 3
    often = np.mean([np.bincount(labels[sampled(labels, 100, 2, seed)[0]], minlength=3) for seed in range(200)], 0)
    np.testing.assert_allclose(often, [50, 48, 2], atol=1.0)
    assert len(sampled(labels[:5], 40, 3, 0)[0]) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "least", "most"), [("digits", 12, 24), ("fashion_small", 0, 4)])
def test_coverage_as_the_guide_says(dataset, least, most):
    """Of 40 draws: five rates, two kinds of noise, four seeds; a sample of 100 is verified ten times in each."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.preprocessing import StandardScaler

    loaded, held, by_sample = data.load(dataset), 0, 0
    pixels, right = loaded.features("train", np.arange(1_000)).reshape(1_000, -1), loaded.y_train[:1_000]
    x = StandardScaler().fit_transform(PCA(32, random_state=0).fit_transform(pixels))
    for rate, kind, seed in itertools.product((0.02, 0.05, 0.1, 0.2, 0.3), ("symmetric", "confusing"), range(4)):
        labels, flags = (corruption.symmetric_noise(right, 10, rate, seed) if kind == "symmetric" else
                         corruption.confusing_noise(pixels, right, 10, rate, seed))
        p = cross_val_predict(LogisticRegression(max_iter=200, C=0.1), x, labels, cv=5, method="predict_proba")
        count, truth = counted(labels, p, seed), flags.noisy.mean()
        held += count.low <= truth <= count.high
        for draw in range(10):
            rows, _ = sampled(labels, 100, 2, 10 * seed + draw)
            known = verified(flagged(labels, p), rows, flags.noisy[rows])
            by_sample += known.low <= truth <= known.high
    assert least <= held <= most and by_sample >= 380
