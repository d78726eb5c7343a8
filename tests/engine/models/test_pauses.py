"""A training that is stopped and taken up again is the training that never stopped."""

import pytest
import torch
from torch import nn

from engine.basics.errors import Cancelled, InvalidInput
from engine.models import pauses, precision
from engine.models.gain import Gain
from engine.models.recipe import Recipe
from engine.models.training import train

X, Y = torch.randn(60, 1, 6, 6, generator=torch.Generator().manual_seed(0)), torch.arange(60) % 3
RECIPE = Recipe(epochs=6, batch_size=16, learning_rate=0.05, momentum=0.9, weight_decay=1e-3, schedule="cosine",
                checkpoints=3)


def build():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2),
                         nn.Linear(64, 3))


@pytest.mark.parametrize("gains", [0.5, 2.0])
def test_resuming_gives_the_same_weights(tmp_path, monkeypatch, gains):
    monkeypatch.setattr(precision, "gain", lambda: Gain(matrices=gains, convolutions=gains))
    recipe = RECIPE.model_copy(update={"precision": "mixed"})
    monkeypatch.setattr(pauses, "EVERY", 0.0)
    whole, path, shares = train(build, X, Y, recipe, 1), tmp_path / "training.paused", []

    def stop(share):
        if share > 0.6:
            raise Cancelled("stop")

    with pytest.raises(Cancelled):
        train(build, X, Y, recipe, 1, progress=stop, pause=path)
    assert path.is_file()
    found = train(build, X, Y, recipe, 1, progress=shares.append, pause=path)
    assert len(shares) == 2 and not path.exists()
    for name, value in whole.state_dict.items():
        assert torch.equal(found.state_dict[name], value), name
    assert found.losses == whole.losses and len(found.checkpoints) == 3
    for (mine, rate), (other, expected) in zip(found.checkpoints, whole.checkpoints, strict=True):
        assert rate == expected and all(torch.equal(mine[name], other[name]) for name in other)


def test_a_short_training_leaves_no_file(tmp_path):
    train(build, X, Y, RECIPE, 1, pause=tmp_path / "training.paused")
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_removed_with_a_sentence(tmp_path):
    path = tmp_path / "training.paused"
    path.write_bytes(b"not a training")
    with pytest.raises(InvalidInput, match="could not be read and was removed"):
        train(build, X, Y, RECIPE, 1, pause=path)
    assert not path.exists()


def test_full_precision_is_not_written():
    assert "precision" not in RECIPE.canonical_json
    mixed = RECIPE.model_copy(update={"precision": "mixed"})
    assert '"precision":"mixed"' in mixed.canonical_json and Recipe.parse(mixed.model_dump()) == mixed
