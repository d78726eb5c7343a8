"""The FashionMNIST extract and the sample zip that is made of it."""

import io
import json
import zipfile

import numpy as np
import pytest

from engine import data
from engine.basics.errors import MissingData
from engine.cli import main
from engine.data import fashion_mnist, fashion_small, sample_folder, uploads
from engine.data.image_folder import WRONG_LABELS


def test_the_extract_is_balanced_and_says_where_it_is_from():
    dataset = data.load("fashion_small")
    assert dataset.raw_train.shape == (2_000, 784) and dataset.raw_test.shape == (500, 784)
    assert np.bincount(dataset.y_train).tolist() == [200] * 10 and np.bincount(dataset.y_test).tolist() == [50] * 10
    assert dataset.image("train", 0).shape == (28, 28) and dataset.features("train").max() == 1.0
    assert "Zalando" in dataset.note and "Zalando" in (
        fashion_small.FOLDER / "fashion_small.LICENSE.txt").read_text(encoding="utf-8")


def test_no_picture_stands_there_twice():
    dataset = data.load("fashion_small")
    assert len({row.tobytes() for row in np.concatenate([dataset.raw_train, dataset.raw_test])}) == 2_500


@pytest.mark.skipif(not fashion_mnist.available()[0], reason="FashionMNIST is not on this machine")
def test_the_extract_is_drawn_from_the_whole_by_the_command(tmp_path):
    assert main(["extract-fashion", "--out", str(tmp_path)]) == 0
    made, kept = (json.loads((folder / fashion_small.MANIFEST).read_text()) for folder in (
        tmp_path, fashion_small.FOLDER))
    assert {**made, "versions": None} == {**kept, "versions": None}
    with np.load(fashion_small.FOLDER / fashion_small.FILE) as held:
        whole = data.load("fashion_mnist")
        for split, raw in (("train", whole.raw_train), ("test", whole.raw_test)):
            rows = held[f"rows_{split}"].astype(int)
            assert np.array_equal(raw[rows], held[f"x_{split}"])
            assert np.array_equal(whole.labels(split)[rows], held[f"y_{split}"])
    assert whole.class_names == fashion_small.CLASSES


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"no zip"),
                                    lambda file: file.write_bytes(file.read_bytes()[:5_000])])
def test_a_missing_or_damaged_file_is_said(tmp_path, monkeypatch, damage):
    for name in (fashion_small.FILE, fashion_small.MANIFEST):
        (tmp_path / name).write_bytes((fashion_small.FOLDER / name).read_bytes())
    monkeypatch.setattr(fashion_small, "FOLDER", tmp_path)
    damage(tmp_path / fashion_small.FILE)
    with pytest.raises(MissingData, match="restore assets/embedded"):
        fashion_small.load()


def test_other_pictures_under_its_name_are_refused(tmp_path, monkeypatch):
    with np.load(fashion_small.FOLDER / fashion_small.FILE) as held:
        np.savez(tmp_path / fashion_small.FILE, **{**held, "y_train": held["y_train"][::-1]})
    (tmp_path / fashion_small.MANIFEST).write_bytes((fashion_small.FOLDER / fashion_small.MANIFEST).read_bytes())
    monkeypatch.setattr(fashion_small, "FOLDER", tmp_path)
    with pytest.raises(MissingData, match="damaged"):
        fashion_small.load()


def test_the_sample_zip_is_an_image_folder_with_a_tenth_misplaced(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    packed = sample_folder.sample_zip()
    found = uploads.load(uploads.keep(io.BytesIO(packed), sample_folder.NAME))
    assert found.raw_train.shape == (600, 784) and found.raw_test.shape == (300, 784) and not found.test_from_train
    assert found.flags.sum() == 60
    extract = data.load("fashion_small")
    truth = {row.tobytes(): name.lower().replace("/", "-").replace(" ", "-") for row, name in zip(
        extract.raw_train, np.array(extract.class_names)[extract.y_train], strict=True)}
    right = [truth[row.tobytes()] == found.class_names[label] for row, label in zip(
        found.raw_train, found.y_train, strict=True)]
    assert (~np.array(right)).tolist() == found.flags.tolist()
    with zipfile.ZipFile(io.BytesIO(packed)) as held:
        assert WRONG_LABELS in held.namelist() and len(held.namelist()) == 901
