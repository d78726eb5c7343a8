"""Every optimizer, schedule and augmentation of a recipe against a plain loop of torch.optim on augmented batches."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput
from engine.models.altered import Altered
from engine.models.augmentation import augmented
from engine.models.recipe import PAPER_CNN, PAPER_RESNET, Recipe
from engine.models.train_many import outputs_of_many
from engine.models.training import Training, train

N, EPOCHS, BATCH, SEED = 14, 4, 5, 7
PLAIN = {"epochs": EPOCHS, "batch_size": BATCH, "learning_rate": 0.05, "weight_decay": 0.02}
OPTIMIZERS = {
    "sgd": ({"momentum": 0.9}, lambda own: torch.optim.SGD(own, 1.0, momentum=0.9, weight_decay=0.02)),
    "nesterov": ({"momentum": 0.9}, lambda own: torch.optim.SGD(own, 1.0, momentum=0.9, weight_decay=0.02,
                                                                nesterov=True)),
    "adam": ({}, lambda own: torch.optim.Adam(own, 1.0, weight_decay=0.02)),
    "adamw": ({}, lambda own: torch.optim.AdamW(own, 1.0, weight_decay=0.02)),
}
FACTORS = {"constant": lambda epoch: 1.0, "cosine": lambda epoch: (1 + math.cos(math.pi * epoch / EPOCHS)) / 2,
           "linear": lambda epoch: 1 - epoch / EPOCHS, "step": lambda epoch: [1, 1, 0.1, 0.01][epoch]}


def data():
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(N, 2, 5, 6, generator=generator, dtype=torch.float64)
    return x, torch.randint(0, 3, (N,), generator=generator)


def build():
    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(36, 3))


def shifted(picture, down, across, mirrored, crop):
    """Pixel by pixel: what stands at (v + down − crop, u + across − crop), zero outside; u from the right if mirrored.
    """
    channels, height, width = picture.shape
    moved = torch.zeros_like(picture)
    for v in range(height):
        for u in range(width):
            row, column = v + down - crop, (width - 1 - u if mirrored else u) + across - crop
            if 0 <= row < height and 0 <= column < width:
                moved[:, v, u] = picture[:, row, column]
    return moved


def pictures(x, recipe, epoch, seed=SEED):
    """What an epoch reads, from numpy's generator seeded with (7, seed, epoch): shifts of all rows, then coins."""
    generator = np.random.default_rng([7, seed, epoch])
    shifts, coins = generator.integers(0, 2 * recipe.crop + 1, (len(x), 2)), generator.random(len(x))
    return torch.stack([shifted(picture, *map(int, shift), recipe.flip and coin < 0.5, recipe.crop)
                        for picture, shift, coin in zip(x, shifts, coins, strict=True)])


def naive(x, y, recipe, without=None):
    """A plain loop of torch.optim; with one example out of its batches where one is named."""
    torch.manual_seed(SEED)
    module, order = build().double(), torch.Generator().manual_seed(SEED)
    optimizer = OPTIMIZERS[recipe.optimizer][1](module.parameters())
    for epoch in range(EPOCHS):
        optimizer.param_groups[0]["lr"] = 0.05 * FACTORS[recipe.schedule](epoch)
        read = pictures(x, recipe, epoch)
        for batch in torch.randperm(N, generator=order).split(BATCH):
            rows = batch[batch != without] if without is not None else batch
            optimizer.zero_grad()
            cross_entropy(module(read[rows]), y[rows]).backward()
            optimizer.step()
    return module


def flat(state):
    return torch.cat([value.flatten() for value in state.values()])


@pytest.mark.grid
@pytest.mark.parametrize("schedule", FACTORS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_training_is_a_plain_loop_of_torchs_optimizer(optimizer, schedule):
    (x, y), (options, _) = data(), OPTIMIZERS[optimizer]
    recipe = Recipe(**PLAIN, optimizer=optimizer, schedule=schedule, **options)
    own = train(build, x, y, recipe, SEED).state_dict
    torch.testing.assert_close(flat(own), flat(naive(x, y, recipe).state_dict()), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("augmentation", [{"flip": True}, {"crop": 2}, {"flip": True, "crop": 1}])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_augmented_batches_are_those_of_the_plain_loop_with_and_without_an_example(optimizer, augmentation):
    (x, y), (options, _) = data(), OPTIMIZERS[optimizer]
    recipe = Recipe(**PLAIN, optimizer=optimizer, **options, **augmentation)
    weights = torch.ones(N, dtype=torch.float64)
    for left_out in (None, 3):
        if left_out is not None:
            weights[left_out] = 0.0
        own = train(build, x, y, recipe, SEED, weights=weights)
        torch.testing.assert_close(flat(own.state_dict), flat(naive(x, y, recipe, left_out).state_dict()), rtol=1e-10,
                                   atol=1e-12)


def test_trainings_side_by_side_read_the_same_pictures():
    (x, y), recipe = data(), Recipe(**PLAIN, optimizer="adam", flip=True, crop=2)
    weights = torch.ones(3, N, dtype=torch.float64)
    weights[1, 3] = weights[2, 8] = 0.0
    together = outputs_of_many(Training(build, x, y, recipe, SEED), Altered(weights, None, "n-1"), x)
    for own, left_out in zip(together, (None, 3, 8), strict=True):
        torch.testing.assert_close(own, naive(x, y, recipe, left_out)(x).detach(), rtol=0, atol=1e-10)


def test_pictures_differ_between_epochs_and_seeds_and_are_those_of_the_row_alone():
    x, _ = data()
    read = {(seed, epoch, rows): augmented(x, torch.tensor(rows), flip=True, crop=2, seed=seed, epoch=epoch)
            for seed in (0, 1) for epoch in (0, 1) for rows in ((2, 9, 4), (9,))}
    assert torch.equal(read[0, 0, (2, 9, 4)][1:2], read[0, 0, (9,)])
    assert not torch.equal(read[0, 0, (2, 9, 4)], read[0, 1, (2, 9, 4)])
    assert not torch.equal(read[0, 0, (2, 9, 4)], read[1, 0, (2, 9, 4)])


def test_flat_inputs_are_no_pictures():
    x, y = data()
    with pytest.raises(InvalidInput, match="not images"):
        train(lambda: nn.Linear(60, 3), x.flatten(1), y, Recipe(**PLAIN, flip=True), SEED)


@pytest.mark.parametrize(("given", "told"), [
    ({"optimizer": "adam", "momentum": 0.9}, "leave `momentum` out"),
    ({"optimizer": "nesterov"}, "momentum, which is 0"),
    ({"optimizer": "rmsprop"}, "'sgd', 'nesterov', 'adam' or 'adamw'"), ({"crop": 65}, "`crop`"),
    ({"schedule": "warm"}, "`schedule`")])
def test_what_does_not_go_together_is_refused(given, told):
    with pytest.raises(InvalidInput, match=told):
        Recipe.parse({**PLAIN, **given})


def test_recipes_of_before_are_written_as_before():
    assert PAPER_CNN.canonical_json == ('{"batch_size":128,"checkpoints":0,"epochs":50,"learning_rate":0.01,'
                                        '"momentum":0.9,"schedule":"constant","weight_decay":0.0001}')
    assert set(PAPER_RESNET.model_dump()) == {"epochs", "batch_size", "learning_rate", "momentum", "weight_decay",
                                              "schedule", "checkpoints", "precision"}


def test_what_is_not_followed_is_said():
    plain, adam = Recipe(**PLAIN), Recipe(**PLAIN, optimizer="adam", checkpoints=2)
    assert not plain.limits and not plain.offers and adam.offers == {"moments"}
    assert "`trajectory` adds up plain gradient steps" in adam.sentence and "by Adam" in adam.sentence
    assert "`retrain`" in Recipe(**PLAIN, crop=2).sentence
