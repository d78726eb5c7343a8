"""Nothing makes a user's own labels wrong, and nothing trusts labels in doubt, unless it is asked for and said."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from engine import data
from engine.applications.noisy_labels.own import own_source
from engine.applications.noisy_labels.retraining import WhatIfRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.source import SMALL_RECIPE, NoisySource
from engine.basics.errors import InvalidInput
from engine.data import uploads
from engine.problems import ProblemSource
from tests.engine.requests_for_tests import retraining_payload, suspicion_payload, what_if_payload


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    return tmp_path


def pictures(splits=("",), count=16, wrong=""):
    """A zip of two classes of pictures that all differ; with `train` and `test` as splits, in two folders."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number, split in enumerate(splits):
            for label, name in enumerate(("cat", "dog")):
                for place in range(count):
                    shade = np.full((28, 28), 40 + 120 * label + place, dtype=np.uint8)
                    shade[0, number] = 255
                    picture = io.BytesIO()
                    Image.fromarray(shade).save(picture, "PNG")
                    archive.writestr(f"{split}/{name}/{place}.png".lstrip("/"), picture.getvalue())
        if wrong:
            archive.writestr("wrong_labels.txt", wrong)
    file.seek(0)
    return file


def arrays(**more):
    rng, file = np.random.default_rng(0), io.BytesIO()
    y = np.arange(60) % 2
    np.savez(file, x_train=np.eye(2)[y] + 0.1 * rng.normal(size=(60, 2)), y_train=y,
             x_query=np.eye(2)[y] + 0.1 * rng.normal(size=(60, 2)), y_query=y, **more)
    file.seek(0)
    return file


def kept(file, suffix):
    return uploads.keep(file, f"mine.{suffix}")


@pytest.mark.parametrize(("make", "suffix"), [
    (arrays, "npz"), (lambda: pictures(("train", "test")), "zip")])
def test_own_labels_stay_as_they_came(make, suffix):
    name = kept(make(), suffix)
    source = NoisySource.parse({"dataset": name, "trusted": 4})
    drawn = source.draw()
    assert source.noise == NoisySource(dataset=name).noise == 0 and drawn.corrupted_count == 0 and drawn.flags is None
    np.testing.assert_array_equal(drawn.evidence.y, data.load(name).y_train[drawn.rows])
    assert NoisySource.parse(suspicion_payload(source)["source"]).noise == 0
    assert NoisySource.parse(retraining_payload(source)["source"]).noise == 0
    assert NoisySource.parse(source.stated) == source
    problem = ProblemSource(dataset=name).draw()[1]  # what self-influence and comparisons read
    np.testing.assert_array_equal(problem.y_train, data.load(name).y_train[problem.train_index])


def test_noise_that_is_asked_for_is_counted_beside_what_was_wrong_before():
    name = kept(arrays(flags=np.arange(60) < 9), "npz")
    drawn = NoisySource(dataset=name, trusted=4, noise=0.2).draw()
    observed, came = drawn.evidence.y, data.load(name).y_train[drawn.rows]
    assert drawn.corrupted_count == (observed != came).sum() == 12
    np.testing.assert_array_equal(drawn.flags.noisy, (observed != came) | (drawn.rows < 9))
    assert NoisySource.parse(drawn.source.stated) == drawn.source


def test_a_registered_dataset_keeps_its_default_and_its_digest():
    source = NoisySource()
    assert source.noise == 0.2 and "trusted_from" not in source.model_dump(mode="json")
    assert NoisySource(noise=0.3).stated == {"noise": 0.3} and source.stated == {}
    with pytest.raises(InvalidInput, match="these data have verified labels"):
        NoisySource(trusted_from="labels in doubt").draw()


def test_labels_in_doubt_are_trusted_only_if_that_is_said():
    source = NoisySource(dataset=kept(pictures(), "zip"), trusted=2)
    with pytest.raises(InvalidInput, match="no label is verified"):
        source.draw()
    drawn = NoisySource.parse({**source.stated, "trusted_from": "labels in doubt"}).draw()
    assert "4 trusted examples, sampled from the unverified labels" in drawn.trusted_origin
    assert suspicion_payload(drawn.source)["source"]["trusted_from"] == "labels in doubt"
    assert drawn.source.identity != source.identity


def test_verified_labels_say_where_they_come_from():
    brought = NoisySource(dataset=kept(pictures(("train", "test")), "zip"), trusted=2)
    assert "sampled from your own `test` folder" in brought.draw().trusted_origin
    assert "your own queries" in NoisySource(dataset=kept(arrays(), "npz"), trusted=2).draw().trusted_origin
    with pytest.raises(InvalidInput, match="have verified labels; leave it out"):
        brought.model_copy(update={"trusted_from": "labels in doubt"}).draw()


@pytest.mark.parametrize("kind", ["zip", "folder", "npz"])
def test_data_at_a_path_are_a_source(tmp_path, kind):
    path = tmp_path / "given" / f"mine.{kind}"
    path.parent.mkdir()
    if kind == "folder":
        with zipfile.ZipFile(pictures(("train", "test"), wrong="train/cat/3.png\n")) as archive:
            archive.extractall(path)
    else:
        path.write_bytes((arrays() if kind == "npz" else pictures(("train", "test"))).read())
    source = own_source(path, {"seed": 3})
    assert (source.model, source.trusted, source.noise, source.seed) == (
        ("logistic", 15, 0, 3) if kind == "npz" else ("pretrained", 8, 0, 3))
    drawn = source.draw()
    assert own_source(path, {}).dataset == source.dataset and len(drawn.evidence.y) == (60 if kind == "npz" else 32)
    if kind == "folder":
        wrong = [drawn.dataset.files[row] for row in drawn.rows[drawn.flags.noisy]]
        assert wrong == ["train/cat/3.png"]


def test_a_run_says_where_the_trusted_examples_come_from(home):
    from engine.jobs import run_job

    source = NoisySource(dataset=kept(pictures(), "zip"), trusted=2, model="mlp", trusted_from="labels in doubt",
                         recipe=SMALL_RECIPE.model_copy(update={"epochs": 1, "checkpoints": 1}))
    facts = run_job(SuspicionRequest.name, suspicion_payload(source, ["repsim"]), home).manifest["facts"]
    assert "sampled from the unverified labels" in facts["trusted_from"] and facts["made_wrong"] == 0
    told = run_job(WhatIfRequest.name, what_if_payload(source, [0], seeds=1), home).manifest
    assert "sampled from the unverified labels" in told["trusted_from"]


@pytest.mark.parametrize("verified", [[0, 0], [0, 1], [0, 0, 1]], ids=["a class lacks", "one each", "one of a class"])
def test_too_few_verified_examples_are_not_trusted(verified, tmp_path):
    y = np.arange(24) % 2
    np.savez(tmp_path / "few.npz", x_train=np.eye(2)[y], y_train=y, x_query=np.eye(2)[verified], y_query=verified)
    source = own_source(tmp_path / "few.npz", {})
    drawn = source.draw()
    assert source.in_turn and len(drawn.rows) == 24 and drawn.y_test.tolist() == verified
    assert not own_source(_saved(tmp_path, y), {}).in_turn


def _saved(folder, y):
    np.savez(folder / "enough.npz", x_train=np.eye(2)[y], y_train=y, x_query=np.eye(2)[y[:4]], y_query=y[:4])
    return folder / "enough.npz"


def test_a_class_of_one_picture_is_read_named_and_not_searched(tmp_path):
    packed = pictures(count=6)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("cow/0.png", archive.read("cat/0.png"))
    (tmp_path / "mine.zip").write_bytes(packed.getvalue())
    drawn = own_source(tmp_path / "mine.zip", {}).draw()
    assert drawn.dataset.class_names == ("cat", "cow", "dog") and len(drawn.rows) == 12
    assert "class `cow` has a single image: too few to verify" in drawn.dataset.said[0]
