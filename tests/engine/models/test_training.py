"""Training against a spelt-out loop: seeds, shared batches, weights, schedules, checkpoints, and what goes wrong."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from engine.basics.errors import Cancelled, InvalidInput
from engine.data import digits
from engine.models.catalogue import build_model
from engine.models.recipe import PAPER_CNN, Recipe
from engine.models.training import Diverged, Training, replay, train

DOUBLE = torch.float64
RECIPE = Recipe(epochs=3, batch_size=4, learning_rate=0.2, momentum=0.9, weight_decay=0.01)


def data(n=11, d=3, classes=3):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(n, d, generator=generator, dtype=DOUBLE)
    return x, torch.randint(0, classes, (n,), generator=generator)


def build():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))


def flat(state):
    return torch.cat([value.flatten().double() for value in state.values()])


def naive(x, y, recipe, seed, losses_of_batch):
    """Momentum SGD written out; losses_of_batch(logits, batch indices, labels) is the batch's loss or None to skip."""
    torch.manual_seed(seed)
    module = build().double()
    order = torch.Generator().manual_seed(seed)
    velocity = [torch.zeros_like(p) for p in module.parameters()]
    for epoch in range(recipe.epochs):
        rate = recipe.learning_rate
        if recipe.schedule == "cosine":
            rate *= (1 + math.cos(math.pi * epoch / recipe.epochs)) / 2
        permuted = torch.randperm(len(y), generator=order)
        for start in range(0, len(y), recipe.batch_size):
            batch = permuted[start:start + recipe.batch_size]
            loss = losses_of_batch(module(x[batch]), batch, y[batch])
            if loss is None:
                continue
            gradients = torch.autograd.grad(loss, list(module.parameters()))
            with torch.no_grad():
                for p, v, g in zip(module.parameters(), velocity, gradients, strict=True):
                    v.mul_(recipe.momentum).add_(g + recipe.weight_decay * p)
                    p.sub_(rate * v)
    return flat(module.state_dict())


def mean(logits, batch, labels):
    return cross_entropy(logits, labels)


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_it_is_momentum_sgd(schedule):
    x, y = data()
    recipe = RECIPE.model_copy(update={"schedule": schedule})
    torch.testing.assert_close(flat(train(build, x, y, recipe, 7).state_dict), naive(x, y, recipe, 7, mean),
                               rtol=1e-12, atol=1e-14)


def test_the_seed_alone_decides():
    x, y = data()
    torch.manual_seed(99)
    first = flat(train(build, x, y, RECIPE, 1).state_dict)
    torch.manual_seed(3)
    state = torch.get_rng_state()
    again = train(build, x, y, RECIPE, 1)
    assert torch.equal(first, flat(again.state_dict))
    assert torch.equal(state, torch.get_rng_state()), "the caller's generator was moved"
    assert not torch.allclose(first, flat(train(build, x, y, RECIPE, 2).state_dict))
    assert not again.module.training and not any(p.requires_grad for p in again.module.parameters())


def test_a_training_can_be_replayed_by_hand_and_again_bit_for_bit():
    """Its parts are pure: the start, the batches, the rates and the losses of the batches make up the whole."""
    x, y = data()
    x, recipe = x.float(), RECIPE.model_copy(update={"schedule": "cosine"})
    training = Training(build, x, y, recipe, 5)
    first, again = replay(training), replay(training)
    assert torch.equal(flat(first.state_dict), flat(again.state_dict)) and first.losses == again.losses
    torch.manual_seed(99)
    module = training.start()
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0, momentum=recipe.momentum,
                                weight_decay=recipe.weight_decay)
    assert all(torch.equal(torch.cat(batches).sort().values, torch.arange(len(y))) for batches in training.batches())
    for epoch, batches in enumerate(training.batches()):
        optimizer.param_groups[0]["lr"] = recipe.rate(epoch)
        for batch in batches:
            optimizer.zero_grad()
            training.batch_loss(module, batch, epoch).backward()
            optimizer.step()
    assert torch.equal(flat(module.state_dict()), flat(first.state_dict))


def without(k):
    """For the naive loop: the mean over the others in the batch; a batch of k alone is skipped."""
    def loss(logits, batch, labels):
        others = batch != k
        return cross_entropy(logits[others], labels[others]) if others.any() else None
    return loss


def divided_by_all(k):
    return lambda logits, batch, labels: (cross_entropy(logits, labels, reduction="none") * (batch != k)).sum() / len(
        batch)


@pytest.mark.parametrize("batch_size", [1, 4, 11])
@pytest.mark.parametrize(("normalization", "loss"), [("n-1", without(4)), ("n", divided_by_all(4))])
def test_a_weight_of_zero_leaves_the_example_out_of_the_same_batches(batch_size, normalization, loss):
    x, y = data()
    recipe = RECIPE.model_copy(update={"batch_size": batch_size, "learning_rate": 0.05})
    weights = torch.ones(len(y), dtype=DOUBLE)
    weights[4] = 0
    found = train(build, x, y, recipe, 3, weights=weights, normalization=normalization)
    torch.testing.assert_close(flat(found.state_dict), naive(x, y, recipe, 3, loss), rtol=1e-11, atol=1e-13)
    x = x.clone()
    x[4] = math.inf  # and it is not so much as looked at
    again = train(build, x, y, recipe, 3, weights=weights, normalization=normalization)
    assert torch.equal(flat(found.state_dict), flat(again.state_dict))


@pytest.mark.parametrize("normalization", ["n-1", "n"])
def test_full_batch_weight_zero_is_training_on_the_rest(normalization):
    """Over n−1: the data without it. Over n: the same with its losses scaled by (n−1)/n."""
    x, y = data()
    n, recipe = len(y), RECIPE.model_copy(update={"batch_size": 100})
    weights, others = torch.ones(n, dtype=DOUBLE), torch.arange(n) != 4
    weights[4] = 0
    share = 1.0 if normalization == "n-1" else (n - 1) / n
    found = train(build, x, y, recipe, 3, weights=weights, normalization=normalization)
    rest = train(build, x[others], y[others], recipe, 3,
                 loss=lambda logits, labels: share * cross_entropy(logits, labels, reduction="none"))
    torch.testing.assert_close(flat(found.state_dict), flat(rest.state_dict), rtol=1e-6, atol=1e-6)


def test_weights_multiply_losses_and_labels_can_be_replaced():
    x, y = data()
    weights = torch.ones(len(y), dtype=DOUBLE)
    weights[2] = 1 + len(y) * 0.1  # upweighting by α = 0.1
    found = train(build, x, y, RECIPE, 3, weights=weights)

    def loss(logits, batch, labels):
        return cross_entropy(logits, labels) + 0.1 * len(y) / len(batch) * (
            cross_entropy(logits, labels, reduction="none") * (batch == 2)).sum()

    torch.testing.assert_close(flat(found.state_dict), naive(x, y, RECIPE, 3, loss), rtol=1e-11, atol=1e-13)
    assert torch.equal(flat(train(build, x, y, RECIPE, 3, weights=torch.ones(len(y))).state_dict),
                       flat(train(build, x, y, RECIPE, 3).state_dict))


def test_dropout_and_batchnorm_follow_the_seed_and_keep_their_masks():
    """Beside a removed example, the others' masks stay the same in every batch that lacks it."""
    def build():
        return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))

    x, y = data(12)
    one = Recipe(epochs=1, batch_size=6, learning_rate=0.1)
    torch.manual_seed(8)
    first = train(build, x, y, one, 4).state_dict
    torch.manual_seed(9)
    assert torch.equal(flat(first), flat(train(build, x, y, one, 4).state_dict))
    assert not torch.equal(first["1.running_mean"], torch.zeros(8, dtype=DOUBLE))

    masks = []

    class Spy(nn.Dropout):
        def forward(self, x):
            out = super().forward(x)
            if self.training:
                masks.append((out != 0).all(0))
            return out

    def spied():
        return nn.Sequential(Spy(0.3), nn.Linear(3, 3))

    order = torch.randperm(12, generator=torch.Generator().manual_seed(4))
    weights = torch.ones(12, dtype=DOUBLE)
    weights[order[0]] = 0  # from the first batch
    train(spied, x, y, one, 4)
    train(spied, x, y, one, 4, weights=weights)
    assert torch.equal(masks[1], masks[3])


def test_checkpoints_are_evenly_spaced_and_the_last_is_the_end():
    x, y = data()
    recipe = Recipe(epochs=7, batch_size=4, learning_rate=0.2, schedule="cosine", checkpoints=3)
    assert recipe.checkpoint_epochs == (1, 4, 6)
    found = train(build, x, y, recipe, 0)
    assert [rate for _, rate in found.checkpoints] == pytest.approx(
        [0.1 * (1 + math.cos(math.pi * epoch / 7)) for epoch in (1, 4, 6)], rel=1e-14)
    assert torch.equal(flat(found.checkpoints[-1][0]), flat(found.state_dict))
    shorter = train(build, x, y, recipe.model_copy(update={"epochs": 2, "checkpoints": 0, "schedule": "constant"}), 0)
    constant = train(build, x, y, recipe.model_copy(update={"schedule": "constant"}), 0)
    assert torch.equal(flat(constant.checkpoints[0][0]), flat(shorter.state_dict)) and not shorter.checkpoints
    for count in range(1, 8):
        kept = Recipe(epochs=7, batch_size=4, learning_rate=0.2, checkpoints=count).checkpoint_epochs
        assert len(set(kept)) == count and kept[-1] == 6


def test_losses_are_the_means_over_batches():
    x, y = data()
    recipe = Recipe(epochs=2, batch_size=11, learning_rate=0.2, weight_decay=0.5)
    found = train(build, x, y, recipe, 0)
    torch.manual_seed(0)
    module = build().double()
    assert found.losses[0] == pytest.approx(cross_entropy(module(x), y).item(), rel=1e-12)
    assert len(found.losses) == 2 and found.losses[1] < found.losses[0]


def test_the_cnn_learns_digits():
    dataset = digits.load()
    x, x_test = (torch.as_tensor(dataset.features(split)).float().view(-1, 1, 8, 8) for split in ("train", "test"))
    recipe = Recipe(epochs=4, batch_size=32, learning_rate=0.05, momentum=0.9, weight_decay=1e-4)
    found = train(lambda: build_model("cnn", (1, 8, 8), 10), x, torch.tensor(dataset.y_train), recipe, 0)
    with torch.no_grad():
        right = found.module(x_test).argmax(-1).numpy() == dataset.y_test
    assert np.mean(right) > 0.9


def test_progress_is_told_and_cancelling_stops():
    x, y = data()
    told, batches = [], []
    train(build, x, y, RECIPE, 0, progress=told.append, check=lambda: batches.append(1))
    assert told == pytest.approx([1 / 3, 2 / 3, 1]) and len(batches) == 9

    def cancel():
        raise Cancelled("stop")

    with pytest.raises(Cancelled):
        train(build, x, y, RECIPE, 0, check=cancel)


def test_what_goes_wrong_is_one_sentence():
    x, y = data()
    with pytest.raises(Diverged, match="diverged in epoch .; choose a learning rate below 100.0"):
        train(lambda: nn.Linear(3, 3), 1e20 * x.float(), y, RECIPE.model_copy(update={"learning_rate": 100.0}), 0)
    with pytest.raises(InvalidInput, match=r"returns shape \(2, 3\) for 2 inputs, but the labels go up to 3"):
        train(build, x, y + 1, RECIPE, 0)
    with pytest.raises(InvalidInput, match=r"cannot be trained on a batch of shape \(2, 2\) .*another batch size"):
        train(build, x[:, :2], y, RECIPE, 0)
    with pytest.raises(InvalidInput, match=r"batch of shape \(1, 3\) \(Expected more than 1 value per channel"):
        train(lambda: nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 3)), x, y,
              RECIPE.model_copy(update={"batch_size": 10}), 0)


def test_recipes_are_values():
    assert PAPER_CNN.model_dump() == {"epochs": 50, "batch_size": 128, "learning_rate": 0.01, "momentum": 0.9,
                                      "weight_decay": 1e-4, "schedule": "constant", "checkpoints": 0}
    assert Recipe.parse({"epochs": 3, "batch_size": 4, "learning_rate": 0.2, "momentum": 0.9,
                         "weight_decay": 0.01}) == RECIPE
    assert RECIPE.canonical_json == ('{"batch_size":4,"checkpoints":0,"epochs":3,"learning_rate":0.2,"momentum":0.9,'
                                     '"schedule":"constant","weight_decay":0.01}')
    with pytest.raises(InvalidInput, match="4 checkpoints do not fit into 3 epochs"):
        Recipe.parse({**RECIPE.model_dump(), "checkpoints": 4})
    with pytest.raises(InvalidInput, match="Unknown key `epoch` in the recipe"):
        Recipe.parse({**RECIPE.model_dump(), "epoch": 4})
    with pytest.raises(InvalidInput, match="`learning_rate` is 0"):
        Recipe.parse({**RECIPE.model_dump(), "learning_rate": 0})
