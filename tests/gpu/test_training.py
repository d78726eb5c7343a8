"""Trainings and caches on a GPU, where passes run in bfloat16, against float32 on the processor."""

import numpy as np
import pytest
import torch

from engine.applications.language.attribution import Attribution
from engine.applications.language.fine_tuned import Setting
from engine.models.catalogue import build_model
from engine.models.recipe import Recipe
from engine.models.training import train
from tests.gpu.device import DEVICE

NARROW = DEVICE.startswith("cuda")
SIZES = {"clean": 24, "answer": 4, "rationale": 4, "validation": 6, "seed": 0}
SETTING = {"model": "World-0.4M", "task": {"name": "response_corruption", "questions": "world", **SIZES},
           "recipe": {"epochs": 2, "checkpoints": 1, "batch": 8, "learning_rate": 3e-3, "context": 128},
           "projection": {"projector": "identity"}}


def pictures(n):
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % 4
    return torch.randn(n, 3, 32, 32, generator=generator) + y[:, None, None, None], y


@pytest.mark.parametrize("model", ["resnet18_quarter_cifar", "mobilenet_v2_quarter_cifar"])
def test_a_mixed_training_learns_what_one_in_float32_does(model):
    """Brightness tells the classes apart; the loss falls alike, and what is learned is right."""
    x, y = pictures(256)
    losses = {}
    for place, precision in (("cpu", "full"), (DEVICE, "mixed")):
        recipe = Recipe(epochs=6, batch_size=32, learning_rate=0.005, momentum=0.9, precision=precision)
        found = train(lambda: build_model(model, (3, 32, 32), 4), x, y, recipe, 0, device=place)
        losses[place] = found.losses
        if place == DEVICE and NARROW:
            assert found.passes == "bfloat16" and all(
                value.dtype == torch.float32 for value in found.state_dict.values() if value.is_floating_point())
    assert losses[DEVICE][-1] < 0.6 * losses[DEVICE][0]
    np.testing.assert_allclose(losses[DEVICE][0], losses["cpu"][0], rtol=0.1)


@pytest.mark.parametrize("model", ["resnet18_quarter_cifar", "cnn"])
def test_training_in_float32_ends_where_it_does_on_the_processor(model):
    x, y = pictures(64)
    recipe = Recipe(epochs=1, batch_size=16, learning_rate=0.01)
    here, there = (train(lambda: build_model(model, (3, 32, 32), 4), x.double(), y, recipe, 0, device=place)
                   for place in ("cpu", DEVICE))
    for name, value in here.state_dict.items():
        torch.testing.assert_close(there.state_dict[name], value, rtol=1e-6, atol=1e-8)


def test_adapters_are_trained_and_their_gradients_cached(tmp_path, monkeypatch):
    """At the weights that the processor's training left, the caches of both point the same way."""
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    own, other = (Attribution(Setting.parse(SETTING), 0, place) for place in ("cpu", DEVICE))
    own.train()
    expected, losses = own.record_cache(own.points[-1])["gradient"], own.points[-1].facts["loss"]
    assert other.train()[-1].facts["loss"] == pytest.approx(losses, rel=0.05)
    found = other.record_cache(own.points[-1])["gradient"]
    cosines = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() > (0.98 if NARROW else 0.999999)
    queries = other.query_cache(own.points[-1], other.task.queries["validation"])
    assert np.isfinite(queries["value"]).all() and len(queries["value"]) == SIZES["validation"]
