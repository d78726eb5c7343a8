"""The regression against its own objective, and the penalty against a search over all of them."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.metrics import log_loss

from engine.models.regression import ABSENT, PENALTIES, choose_penalty, fit_regression


def sampled(classes, n=120, features=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features)).astype(np.float32)
    return x, (2 * x @ rng.normal(size=(features, classes)) + rng.gumbel(size=(n, classes))).argmax(1)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_ends_at_the_optimum_of_its_objective(classes, weighted):
    """Two classes, whose weights scikit-learn holds as a difference, and several; rows of weight zero count nothing."""
    x, y = sampled(classes)
    weights = (np.arange(len(y)) % 3).astype(np.float32) if weighted else np.ones(len(y), dtype=np.float32)

    def objective(flat):
        w, b = flat[:-classes].reshape(-1, classes), flat[-classes:]
        log_p = torch.log_softmax(torch.from_numpy(x @ w + b), -1).numpy()
        return -np.average(log_p[np.arange(len(y)), y], weights=weights) + 0.05 * (w ** 2).sum()

    optimum = minimize(objective, np.zeros((x.shape[1] + 1) * classes)).x
    module = fit_regression(x, y, classes, 0.1, weights if weighted else None, tolerance=1e-4)
    expected = torch.from_numpy(x @ optimum[:-classes].reshape(-1, classes) + optimum[-classes:]).softmax(-1)
    assert torch.allclose(module(torch.from_numpy(x)).softmax(-1).double(), expected, atol=2e-3)


def test_a_class_without_an_example_is_never_predicted():
    x, y = sampled(3)
    module = fit_regression(x[y != 1], y[y != 1], 3, 0.1)
    assert module[1].bias[1] == ABSENT and not (module(torch.from_numpy(x)).argmax(-1) == 1).any()


def test_the_penalty_predicts_held_out_labels_about_as_well_as_any():
    """Of others of the same distribution: noise in the labels asks for a strong one."""
    x, y = sampled(3, n=3600, features=40)
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.4, (y + 1) % 3, y)
    losses = {penalty: log_loss(y[600:], fit_regression(x[:600], y[:600], 3, penalty)(
        torch.from_numpy(x[600:])).softmax(-1).detach().numpy()) for penalty in PENALTIES}
    chosen = choose_penalty(x[:600], y[:600], 0)
    assert losses[chosen] < min(losses.values()) + 0.02 < losses[PENALTIES[-1]]
