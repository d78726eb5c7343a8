"""Stacked trainings against the same trainings one by one, in float64 and to its rounding."""

import pytest
import torch
from torch import nn

from engine.models.altered import Altered
from engine.models.cnn import cnn
from engine.models.recipe import Recipe
from engine.models.train_many import convolves, outputs_of_many, stands_alone
from engine.models.training import Training, train
from tests.engine.single_thread import one_thread  # noqa: F401

N = 22
RECIPE = Recipe(epochs=3, batch_size=5, learning_rate=0.1, momentum=0.9, weight_decay=1e-3, schedule="cosine")


def mlp():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def given(build, shape=(4,), recipe=RECIPE):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(N, *shape, generator=generator, dtype=torch.float64)
    y = torch.randint(0, 3, (N,), generator=generator)
    y[0] = 2
    return Training(build, x, y, recipe, 4), torch.randn(5, *shape, generator=generator, dtype=torch.float64)


def altered(normalization="n-1"):
    """Everyone; half of them; a batch without anyone; nobody; weights; other labels."""
    weights = torch.ones(6, N, dtype=torch.float64)
    weights[1, ::2] = 0.0
    weights[2, torch.randperm(N, generator=torch.Generator().manual_seed(4))[:10]] = 0.0  # the first two batches
    weights[3] = 0.0
    weights[4, :6] = 2.5
    labels = torch.randint(0, 3, (6, N), generator=torch.Generator().manual_seed(2))
    return Altered(weights, labels, normalization)


@pytest.mark.grid
@pytest.mark.parametrize("recipe", [RECIPE, Recipe(epochs=2, batch_size=22, learning_rate=0.3)])
@pytest.mark.parametrize("normalization", ["n-1", "n"])
@pytest.mark.parametrize(("build", "shape"), [(mlp, (4,)), (lambda: cnn((1, 8, 8), 3), (1, 8, 8))])
def test_each_is_the_single_training(build, shape, normalization, recipe, monkeypatch):
    monkeypatch.setattr("engine.models.train_many.TOGETHER", 4)
    training, queries = given(build, shape, recipe)
    asked = altered(normalization)
    found = outputs_of_many(training, asked, queries)
    for weights, labels, logits in zip(asked.weights, asked.labels, found, strict=True):
        single = train(build, training.x, labels, recipe, 4, weights=weights, normalization=normalization).module
        torch.testing.assert_close(logits, single(queries), rtol=0, atol=1e-12)


def test_what_depends_on_others_or_on_chance_does_not_stand_alone():
    x = torch.randn(3, 4)
    alone = {"plain": mlp(), "norm": nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))}
    not_alone = {"dropout": nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)),
                 "batch": nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))}
    assert all(stands_alone(module, x) for module in alone.values())
    assert not any(stands_alone(module, x) for module in not_alone.values())
    assert not not_alone["batch"][1].running_mean.any() and not_alone["batch"].training
    assert convolves(cnn((1, 8, 8), 3)) and not convolves(mlp())


def test_a_training_that_diverges_spoils_no_other():
    training, queries = given(mlp, recipe=Recipe(epochs=4, batch_size=5, learning_rate=0.5, weight_decay=0.1))
    weights = torch.ones(2, N, dtype=torch.float64)
    weights[1] = torch.inf
    found = outputs_of_many(training, Altered(weights), queries)
    assert found[0].isfinite().all() and not found[1].isfinite().all()
