"""A model of one's own with its data and weights, declared for every page."""

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.cli.network import input_shape as cli_shape
from engine.cli.setting import NetworkOptions
from engine.data import load_npz
from engine.data.arrays import from_arrays
from engine.desk import fitting
from engine.models.own_architecture import declared
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.problems.families.inputs import input_shape
from engine.problems.own_model import declare
from tests.engine.models.test_own_architecture import folder  # noqa: F401


@pytest.fixture
def files(folder, monkeypatch):  # noqa: F811
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(folder / "home"))
    rng = np.random.default_rng(0)
    x = rng.integers(0, 20, (50, 3))
    np.savez(folder / "data.npz", x_train=x[:40], y_train=x[:40, 0] % 3, x_query=x[40:], y_query=x[40:, 0] % 3)
    from torch import nn

    torch.save({"state_dict": {f"module.{name}": value for name, value in nn.Sequential(
        nn.Embedding(20, 4), nn.Flatten(), nn.Linear(12, 3)).state_dict().items()}}, folder / "w.pt")
    return folder


def test_data_and_weights_are_kept_and_used(files):
    said = list(declare(model=f"{files}/stranger.py:bare", whole=True, checkpoint=files / "w.pt",
                        data=files / "data.npz", name="tokens"))
    own = declared()
    assert said[0] == "Data: 40 examples of 3 classes to train on, 10 to ask about."
    assert own.name == "tokens" and own.weights.startswith("own-")
    source = ProblemSource(dataset=own.data, model="tokens", weights=own.weights)
    problem = source.build().problem
    stored = torch.load(files / "w.pt", weights_only=True)["state_dict"]["module.2.bias"]
    assert torch.equal(dict(problem.network.module.named_parameters())["2.bias"], stored)
    assert set(source.contents) == {"data", "model", "weights"}


@pytest.mark.parametrize(("given", "words"), [
    ({"name": "x"}, "name the model too"),
    ({"model": "mlp", "checkpoint": "w.pt"}, "give the data too"),
    ({"model": "mlp", "name": "x"}, "leave out the other name"),
    ({"model": "mlp", "data": "data.npz", "checkpoint": "w.pt"}, "w.pt"),
    ({"model": "mlp", "data": "data.npz", "checkpoint": "none.pt"}, "no checkpoint"),
])
def test_what_does_not_go_together_is_refused(files, given, words):
    paths = {name: files / value if name in ("data", "checkpoint") else value for name, value in given.items()}
    with pytest.raises(InvalidInput, match=words):
        list(declare(**paths))


def test_a_declared_shape_has_to_hold_the_features(files):
    list(declare(model=f"{files}/stranger.py:make", shape=(1, 3, 1), data=files / "data.npz"))
    own = declared()
    source = ProblemSource(dataset=own.data, model=own.name)
    assert input_shape(own.name, source.draw()[0], 1) == (1, 3, 1)
    with pytest.raises(InvalidInput, match=r"takes inputs of shape \(1, 3, 1\)"):
        ProblemSource(dataset="digits", model=own.name).build_module()


@pytest.mark.parametrize(("side", "read", "channels"), [(20, 28, 1), (20, 32, 3), (120, 64, 3)])
def test_pictures_reach_the_model_from_0_to_1_channels_first(files, side, read, channels):
    from PIL import Image

    rng = np.random.default_rng(1)
    for split, name, at in ((split, name, at) for split in ("train", "val") for name in "ab" for at in range(3)):
        path = files / "pictures" / split / name / f"{at}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (side, side, 3) if channels == 3 else (side, side), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    list(declare(model=f"{files}/stranger.py:make", data=files / "pictures"))
    own = declared()
    recipe = {"epochs": 1, "learning_rate": 0.1, "batch_size": 4}
    problem = ProblemSource(dataset=own.data, model=own.name, recipe=recipe).build().problem
    assert problem.x.shape[1:] == (channels, read, read)
    assert problem.x.min() >= 0 and 0.5 < problem.x.max() <= 1


def test_a_language_model_and_records_of_one_s_own(files, model_folder, monkeypatch):
    import json

    from engine.desk import language
    from engine.models.causal.recipe import FineTuning

    (files / "records.jsonl").write_text("\n".join(json.dumps({"prompt": f"What is {k}?", "response": f"It is {k}."})
                                                   for k in range(20)))
    recipe = FineTuning(rank=2, epochs=1, batch=4, context=64)
    tiny = files / "tiny.v1"  # a name with a point in it
    tiny.symlink_to(model_folder)
    assert language.begun() is None
    monkeypatch.chdir(files)
    said = list(declare(model="./tiny.v1", data=files / "records.jsonl", recipe=recipe))
    own = declared()
    assert own.name == str(tiny)  # a worker starts in another folder
    begun = language.begun()
    assert begun.model == str(tiny) and len(begun.queries) == 8
    assert "18 records to train on, 2 to ask about" in said[0] and own.recipe == recipe
    assert ProblemSource(dataset=own.data, model=own.name, recipe=own.recipe).training_recipe == recipe


@pytest.mark.parametrize(("given", "declared", "moved"), [
    ((9, 10, 3), (), True), ((9, 10, 3), (9, 10, 3), False), ((3, 9, 10), (3, 9, 10), False), ((9, 10), (90,), False),
    ((3, 9, 10), (9, 10, 3), None), ((3, 9, 10), (3, 10, 9), "refused")])
def test_pictures_in_arrays_reach_a_model_in_the_shape_that_it_declares(monkeypatch, given, declared, moved):
    from engine.models.catalogue import OWNED, Own
    from engine.problems.families import inputs

    x = np.random.default_rng(0).random((4, *given))
    dataset = from_arrays(x, [0, 1, 0, 1], x, [0, 1, 0, 1]).dataset()
    monkeypatch.setitem(OWNED, "own", Own(declared, ""))
    if moved == "refused":
        with pytest.raises(InvalidInput, match="takes inputs of shape"):
            inputs.as_inputs("own", dataset, 1, dataset.raw_train)
        return
    read = inputs.as_inputs("own", dataset, 1, dataset.raw_train)
    right = np.moveaxis(x, 1, -1) if moved is None else np.moveaxis(x, -1, 1) if moved else x.reshape(4, *declared)
    assert read.shape[1:] == right.shape[1:] and np.array_equal(read, right.astype(np.float32))


def test_arrays_keep_the_shape_that_a_model_takes(files):
    """A time series (n, channels, length) needs no --shape; what takes flat inputs still gets them."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 2, 10))
    np.savez(files / "series.npz", x_train=x, y_train=np.arange(12) % 3, x_query=x[:3], y_query=np.arange(3))
    (files / "series_model.py").write_text(
        "from torch import nn\n\n\ndef wide(shape, classes):\n"
        "    return nn.Sequential(nn.Conv1d(2, 3, 3), nn.Flatten(), nn.Linear(24, classes))\n\n\n"
        "def flat():\n    return nn.Linear(20, 3)\n")
    for function, shape in (("wide", (2, 10)), ("flat", ())):
        list(declare(model=f"{files}/series_model.py:{function}", data=files / "series.npz", name=function))
        assert declared().shape == shape
        problem = ProblemSource(dataset=declared().data, model=function).build().problem
        assert problem.x.shape == (12, *(shape or (20,)))
    arrays = load_npz(files / "series.npz")
    assert cli_shape(NetworkOptions(model=f"{files}/series_model.py:wide"), arrays) == (2, 10)
    assert cli_shape(NetworkOptions(model=f"{files}/series_model.py:flat"), arrays) == (20,)


@pytest.mark.parametrize("shape", [(3, 8, 9), (8, 9, 3), (8, 9)])
def test_arrays_of_pictures_reach_a_model_of_flat_inputs_in_their_own_order(files, shape):
    x = np.random.default_rng(2).random((12, *shape))
    np.savez(files / "pictures.npz", x_train=x, y_train=np.arange(12) % 3, x_query=x[:3], y_query=np.arange(3))
    (files / "stranger.py").write_text("from torch import nn\n\n\ndef flat(shape, classes):\n"
                                         f"    return nn.Linear({x[0].size}, classes)\n")
    list(declare(model=f"{files}/stranger.py:flat", data=files / "pictures.npz", name="flat"))
    assert declared().shape == (x[0].size,)
    source = ProblemSource(dataset=declared().data, model="flat")
    problem = source.build().problem
    rows = source.draw()[1].train_index
    np.testing.assert_allclose(problem.x, x.reshape(12, -1)[rows], atol=1e-6)


def test_pictures_in_files_reach_a_model_of_flat_inputs_channels_first(files):
    from PIL import Image

    pixels = np.random.default_rng(3).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    for split, name in ((split, name) for split in ("train", "val") for name in "ab"):
        (files / "pictures" / split / name).mkdir(parents=True)
        Image.fromarray(pixels).save(files / "pictures" / split / name / "0.png")
    (files / "stranger.py").write_text("from torch import nn\n\n\ndef flat():\n    return nn.Linear(3072, 2)\n")
    list(declare(model=f"{files}/stranger.py:flat", data=files / "pictures", name="flat"))
    problem = ProblemSource(dataset=declared().data, model="flat").build().problem
    np.testing.assert_allclose(problem.x[0], pixels.transpose(2, 0, 1).ravel() / 255, atol=1e-6)


@pytest.mark.parametrize(("stated", "decay"), [({}, 1e-4), ({"weight_decay": 0.003}, 0.003), ({"weight_decay": 0}, 0)])
def test_the_penalty_is_the_weight_decay_that_the_recipe_states(files, stated, decay):
    recipe = Recipe.parse({"epochs": 1, "batch_size": 8, "learning_rate": 0.1, **stated})
    list(declare(model=f"{files}/stranger.py:bare", whole=True, data=files / "data.npz", recipe=recipe))
    source = fitting.beginning(declared())
    assert fitting.penalty(source.dataset, source.model) == source.l2 == source.training_recipe.weight_decay == decay
    written = source.model_dump_json(exclude_defaults=True)
    assert ProblemSource.model_validate_json(written) == source
    of_file = ProblemSource.parse({"dataset": "digits", "model": "mlp",
                                   "recipe": recipe.model_dump(exclude_unset=True)})
    assert of_file.l2 == decay
    given = ProblemSource.parse({**of_file.model_dump(), "l2": 0.5})
    assert given.l2 == given.training_recipe.weight_decay == 0.5
