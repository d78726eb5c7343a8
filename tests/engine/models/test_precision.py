"""Passes in bfloat16 where the processor gains from them: the precision of every part, and what is said of it."""

import pytest
import torch
from torch import nn

from engine.basics.noted import noting
from engine.models import precision
from engine.models.gain import ENOUGH, Gain
from engine.models.recipe import Recipe
from engine.models.training import Training, replay, train

RECIPE = Recipe(epochs=8, batch_size=16, learning_rate=0.05, momentum=0.9, weight_decay=1e-3, checkpoints=2)
MIXED = RECIPE.model_copy(update={"precision": "mixed"})
FAST, SLOW = Gain(matrices=1.0, convolutions=4.8), Gain(matrices=1.0, convolutions=ENOUGH - 0.1)


def pictures(n=96):
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % 3
    return torch.randn(3, 2, 8, 8, generator=generator)[y] + torch.randn(n, 2, 8, 8, generator=generator), y


def build():
    return nn.Sequential(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 3))


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(precision, "gain", lambda: FAST)


@pytest.fixture
def slow(monkeypatch):
    monkeypatch.setattr(precision, "gain", lambda: SLOW)


def watched(seen):
    """A module that tells the types of what its convolution and its head give, of their gradients, and the layout."""
    def built():
        module = build()
        for name in ("0", "4"):
            layer = module.get_submodule(name)
            layer.register_forward_hook(lambda layer, given, found: seen.add(("forward", found.dtype))
                                        if layer.training and found.requires_grad else None)
        module[4].register_full_backward_hook(lambda layer, inner, outer: seen.add(("backward", outer[0].dtype)))
        module[0].register_forward_hook(lambda layer, given, found: seen.add(
            ("channels last", found.is_contiguous(memory_format=torch.channels_last))) if found.requires_grad else None)
        return module
    return built


def test_where_it_gains_passes_are_bfloat16_and_all_else_float32(fast):
    seen, kinds = set(), []

    def loss(logits, labels):
        kinds.append(logits.dtype)
        return nn.functional.cross_entropy(logits, labels, reduction="none")

    found = train(watched(seen), *pictures(), MIXED, 1, loss=loss)
    assert seen == {("forward", torch.bfloat16), ("backward", torch.bfloat16), ("channels last", True)}
    assert set(kinds) == {torch.float32}
    states = [found.state_dict, *(state for state, _ in found.checkpoints)]
    assert {value.dtype for state in states for value in state.values()} == {torch.float32, torch.int64}
    assert found.passes == "bfloat16 (measured gain 4.8)"
    with torch.no_grad():
        assert found.module(pictures()[0][:2]).dtype == torch.float32


@pytest.mark.parametrize(("recipe", "told"), [
    (RECIPE, "float32"), (MIXED, "float32, since bfloat16 is not faster here (measured gain 1.2)")])
def test_where_it_does_not_passes_are_float32(slow, recipe, told):
    seen, plain = set(), train(build, *pictures(), RECIPE, 1)
    found = train(watched(seen), *pictures(), recipe, 1)
    assert ("forward", torch.float32) in seen and torch.bfloat16 not in {kind for _, kind in seen}
    assert found.passes == told
    assert all(torch.equal(plain.state_dict[name], value) for name, value in found.state_dict.items())


def test_full_precision_asks_for_no_measurement(monkeypatch):
    monkeypatch.setattr(precision, "gain", lambda: pytest.fail("it was measured"))
    x, y = pictures()
    assert train(build, x, y, RECIPE, 0).passes == "float32"
    assert train(build, x.double(), y, MIXED, 0).passes == "float64"
    found = train(build, x, y, MIXED, 0, exact=True)
    assert found.passes == "float32, since results are subtracted"
    assert all(torch.equal(found.state_dict[name], value)
               for name, value in train(build, x, y, RECIPE, 0).state_dict.items())


def test_matrices_count_where_nothing_is_convolved(fast):
    x, y = pictures()
    found = train(lambda: nn.Sequential(nn.Flatten(), nn.Linear(128, 3)), x, y, MIXED, 0)
    assert found.passes == "float32, since bfloat16 is not faster here (measured gain 1.0)"


def test_the_loss_falls_alike(fast):
    whole, narrow = (train(build, *pictures(), recipe, 1) for recipe in (RECIPE, MIXED))
    assert whole.losses != narrow.losses and narrow.losses[-1] < 0.5 * narrow.losses[0]
    torch.testing.assert_close(torch.tensor(narrow.losses), torch.tensor(whole.losses), rtol=0.05, atol=0.005)


def test_it_is_the_same_every_time_and_is_noted(fast):
    training = Training(build, *pictures(), MIXED, 5)
    first, again = replay(training), replay(training)
    assert all(torch.equal(first.state_dict[name], value) for name, value in again.state_dict.items())
    with noting() as told:
        train(build, *pictures(), MIXED, 5)
        train(build, *pictures(), RECIPE, 5)
    assert told == {"bfloat16 (measured gain 4.8)", "float32"}


def test_the_sentence_of_a_recipe_says_it():
    assert MIXED.sentence == RECIPE.sentence[:-1] + ", passes in bfloat16 if that is faster on the CPU."
