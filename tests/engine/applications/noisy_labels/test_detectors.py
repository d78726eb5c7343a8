"""Methods that estimate no influence, each against its definition by a naive loop, brute force or another library."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from torch import tensor
from torch.nn.functional import cross_entropy

from engine.applications.noisy_labels.detectors import data_oob, kernel_removal, path, probabilities, refitted
from engine.applications.noisy_labels.detectors.methods import DETECTORS
from engine.applications.noisy_labels.detectors.readings import Readings
from engine.applications.noisy_labels.search import SuspicionRequest
from tests.engine.applications.noisy_labels.sources import source

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 12)
LOGITS = RNG.normal(size=(4, 12, 3))
P = RNG.dirichlet(np.ones(3), 12)


def test_self_confidence_and_margin_of_single_examples():
    for found, by_hand in ((probabilities.self_confidence(LABELS, P), lambda p, y: -p[y]),
                           (probabilities.normalized_margin(LABELS, P),
                            lambda p, y: -(p[y] - max(np.delete(p, y)) + 1) / 2)):
        np.testing.assert_allclose(found, [by_hand(p, y) for p, y in zip(P, LABELS, strict=True)])


def test_what_a_training_says_on_the_way_of_single_examples():
    margins, losses, events, errors = [], [], [], []
    for k, y in enumerate(LABELS):
        z = LOGITS[:, k]
        margins.append(-np.mean([row[y] - max(np.delete(row, y)) for row in z]))
        losses.append(float(cross_entropy(tensor(z), tensor([y] * 4))))
        right = [row.argmax() == y for row in z]
        events.append(sum(a and not b for a, b in zip(right, right[1:], strict=False)) if any(right) else 4)
        errors.append(np.linalg.norm(np.exp(z[0]) / np.exp(z[0]).sum() - np.eye(3)[y]))
    np.testing.assert_allclose(path.area_under_margin(LABELS, LOGITS), margins)
    np.testing.assert_allclose(path.mean_loss(LABELS, LOGITS), losses)
    np.testing.assert_array_equal(path.forgetting(LABELS, LOGITS), events)
    np.testing.assert_allclose(path.el2n(LABELS, LOGITS), errors)
    assert len(set(events)) > 2


def test_data_oob_is_the_vote_of_the_trees_without_an_example():
    x = RNG.normal(size=(40, 3))
    y = np.where(x[:, 0] > 0, 5, 2)
    forest = RandomForestClassifier(15, random_state=3).fit(x, y)
    votes = [[tree.predict(x[k:k + 1])[0] == (y[k] == 5) for tree, bag in
              zip(forest.estimators_, forest.estimators_samples_, strict=True) if k not in bag] for k in range(40)]
    expected = np.array([np.mean(one) if one else np.nan for one in votes])
    found = data_oob.values(x, y, seed=3, trees=15)
    np.testing.assert_allclose(found, np.where(np.isnan(expected), np.nanmean(expected), expected))


@pytest.mark.parametrize("weights", [None, [0.5, 1.0]])
def test_removal_in_closed_form_is_a_refit_without_each_example(monkeypatch, weights):
    x, y = RNG.normal(size=(25, 4)), RNG.integers(0, 3, 25)
    unit = x - x.mean(0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    kernel, targets = np.exp(kernel_removal.GAMMA * (unit @ unit.T - 1)), np.eye(3)[y] - np.eye(3)[y].mean(0)
    weights = None if weights is None else np.array(weights * 13)[:25]
    made, mean = kernel_removal.fits(x, y, 3, weights=weights), np.eye(3)[y].mean(0)
    each = np.ones(25) if weights is None else weights / weights.mean()
    refit = KernelRidge(alpha=kernel_removal.RIDGE, kernel="precomputed")
    fitted = refit.fit(kernel, targets, sample_weight=each)
    np.testing.assert_allclose(made.whole, fitted.predict(kernel) + mean, atol=2e-5)
    for k in range(25):
        rest = np.arange(25) != k
        fitted = refit.fit(kernel[np.ix_(rest, rest)], targets[rest], sample_weight=each[rest])
        np.testing.assert_allclose(made.without[k], fitted.predict(kernel[k:k + 1, rest])[0] + mean, atol=2e-5)
    margins = [[values[y[k]] - max(np.delete(values, y[k])) for k, values in enumerate(table)]
               for table in (made.whole, made.without)]
    np.testing.assert_allclose(kernel_removal.self_influence(made, y), np.subtract(*margins))
    monkeypatch.setattr(kernel_removal, "MOST", 13)
    assert np.isfinite(kernel_removal.fits(x, y, 3).without).all()


class NearestMeans(Readings):
    """Models that know the mean of each class, of examples with a weight outside of the example's half."""

    def __init__(self, x, labels):
        self.x, self.labels, self.seed = x, labels, 0

    @property
    def inputs(self):
        return self.x

    @property
    def probabilities(self):
        return self.refitted(np.ones(len(self.labels)), 1.0)

    def refitted(self, weights, penalty):
        p = np.empty((len(self.x), 2))
        for half in (0, 1):
            held = np.arange(len(self.x)) % 2 == half
            means = [np.average(self.x[~held & (self.labels == c)], axis=0, weights=weights[~held & (self.labels == c)])
                     for c in (0, 1)]
            distances = np.stack([((self.x[held] - mean) ** 2).sum(1) for mean in means], 1)
            p[held] = np.exp(-distances) / np.exp(-distances).sum(1, keepdims=True)
        return p


def test_a_refit_weighs_labels_by_how_far_they_are_believed():
    x, labels = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) // 2 % 2
    x += 1.5 * labels[:, None]
    labels = labels.copy()
    labels[:12] = 1 - labels[:12]
    readings, rows = NearestMeans(x, labels), np.arange(80)
    weights = np.maximum(readings.probabilities[rows, labels], 0.02)
    refit, near = readings.refitted(weights, 1 / 3), kernel_removal.fits(x, labels, 2, weights=weights).without
    suspicion, both = refitted.suspicion(readings), np.clip([refit, near], 1e-3, 1)
    mean = np.sqrt(both[0] * both[1])
    flips = refitted.noise_transition(mean / mean.sum(1, keepdims=True), labels)
    for k, y in enumerate(labels):
        odds = both[:, k, 1 - y] / both[:, k, y]
        assert suspicion[k] == pytest.approx(np.log(odds).sum() + np.log(flips[1 - y, y] / flips[y, y]) / 2)
    assert suspicion[:12].mean() > suspicion[12:].mean() + 0.3


def test_how_often_each_class_is_labelled_another_is_read_from_what_models_believe():
    """The EM by sums over examples, each round as likely as the last or more, and a planted transition."""
    rng, classes, n = np.random.default_rng(1), 3, 2_000
    planted = np.array([[0.7, 0.3, 0.0], [0.05, 0.9, 0.05], [0.0, 0.0, 1.0]])
    right = rng.integers(0, classes, n)
    labels = np.array([rng.choice(classes, p=planted[y]) for y in right])
    p = 0.01 / 3 + 0.99 * np.eye(classes)[right]
    by_sums, likely = np.full((3, 3), 0.05) + 0.85 * np.eye(3), []
    for _ in range(refitted.ROUNDS):
        counts = np.full((3, 3), 0.5)
        for k, y in enumerate(labels):
            counts[:, y] += p[k] * by_sums[:, y] / (p[k] * by_sums[:, y]).sum()
        by_sums = counts / counts.sum(1, keepdims=True)
        likely.append(np.log((p * by_sums[:, labels].T).sum(1)).sum() + 0.5 * np.log(by_sums).sum())
    assert (np.diff(likely) > -1e-9).all()
    np.testing.assert_allclose(refitted.noise_transition(p, labels), by_sums)
    np.testing.assert_allclose(by_sums, planted, atol=0.03)


def test_each_says_what_it_asks_and_who_proposed_it():
    assert all(one.question.endswith("?") and one.source in one.sentence for one in DETECTORS.values())


def test_a_search_by_a_method_whose_numbers_have_changed_is_another_one():
    before, after = (SuspicionRequest(source=source(), methods=methods).payload["contents"]
                     for methods in (("self_confidence",), ("refitted", "self_confidence")))
    assert after == {**before, "refitted": "2"}
