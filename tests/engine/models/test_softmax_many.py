"""Many softmax regressions at once against single fits, scikit-learn, and the objective's own gradient."""

import numpy as np
import pytest
import torch

from engine.models import softmax
from engine.models.altered import Altered
from engine.models.softmax_many import Sets, fit_many, fits_dense
from tests.engine.problems_for_tests import problem, sklearn_weights
from tests.engine.single_thread import one_thread  # noqa: F401

BUDGET = 1 << 30


def halves(n, count, seed=0):
    return torch.tensor(np.random.default_rng(seed).random((count, n)) < 0.5).double()


@pytest.mark.parametrize("options", [{}, {"intercept": True}, {"l2": 1e-5, "spread": 4.0}])
def test_every_optimum_is_that_of_a_single_fit(options):
    small = problem(n=50, **options)
    weights = halves(50, 7)
    weights[:, :3] = 1.0  # every class stays
    whole = small.weights
    found = small.retrained_outputs(Altered(weights))
    for row, logits in zip(weights, found, strict=True):
        kept = row.nonzero()[:, 0]
        single = softmax.fit(small.x[kept], small.y[kept], 3, small.penalty)
        torch.testing.assert_close(logits, small.queries @ single.weights, rtol=0, atol=2e-7)
    assert torch.equal(whole, small.weights)


def test_weights_and_labels_enter_the_objective():
    small = problem(n=40)
    weights, labels = 3 * torch.rand(2, 40, dtype=torch.float64), small.y.repeat(2, 1)
    labels[1, :5] = (labels[1, :5] + 1) % 3
    found = small.retrained_outputs(Altered(weights, labels))
    for row, own, logits in zip(weights, labels, found, strict=True):
        l2 = small.l2 * 40 / row.sum().item()  # the mean runs over 40, whatever the weights add up to
        expected = small.queries @ sklearn_weights(small, y=own, sample_weight=row.numpy(), l2=l2)
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-6)


def test_the_denominator_is_what_is_left_or_all():
    small = problem(n=20)
    weights = torch.ones(1, 20).double()
    weights[0, :8] = 0.0
    assert Altered(weights).denominators(weights).tolist() == [12]
    assert Altered(weights, normalization="n").denominators(weights).tolist() == [20]
    for normalization, l2 in (("n-1", 1.0), ("n", 20 / 12)):
        found = small.retrained_outputs(Altered(weights, normalization=normalization))[0]
        kept = small.x[8:], small.y[8:]
        torch.testing.assert_close(found, small.queries @ sklearn_weights(small, *kept, l2=small.l2 * l2), rtol=0,
                                   atol=1e-6)


def test_models_that_do_not_fit_together_and_none_at_all_are_fitted_one_by_one(monkeypatch):
    small = problem(n=30)
    weights = torch.ones(3, 30).double()
    weights[0] = 0.0
    weights[1, 10:14] = 0.0
    together = small.retrained_outputs(Altered(weights))
    assert not together[0].any()
    monkeypatch.setattr("engine.problems.softmax.fits_dense", lambda sets, budget: False)
    torch.testing.assert_close(small.retrained_outputs(Altered(weights)), together, rtol=0, atol=1e-9)


def test_a_batch_changes_nothing(monkeypatch):
    small = problem(n=30)
    sets = Sets(small.x, small.y.expand(9, -1), halves(30, 9) / 15, 3, small.penalty)
    assert fits_dense(sets, BUDGET) and not fits_dense(sets, 100)
    whole, norms = fit_many(sets, small.weights, BUDGET)
    assert norms.max() < softmax.GRADIENT_TOLERANCE
    narrow = 2 * (sets.outer_bytes + 2 * sets.bytes_each)
    torch.testing.assert_close(fit_many(sets, small.weights, narrow)[0], whole, rtol=0, atol=1e-9)
