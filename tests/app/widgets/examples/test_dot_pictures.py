"""The sheet of pictures of a chart's dots, and what else a dot says."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from app.widgets.examples import dot_pictures
from engine import data
from engine.data import Dataset
from engine.data.records import Record

ROWS = (5, 0, 9, 700, 3, 44, 8)


@pytest.mark.parametrize("name", ["digits", "colours"])
def test_each_picture_stands_at_its_place_of_the_sheet(name):
    dataset = data.load("digits")
    if name == "colours":
        raw = np.random.default_rng(0).uniform(0, 1, (10, 4 * 6 * 3))
        dataset = Dataset("colours", "C", np.tile(raw, (100, 1)), np.zeros(1000, int), raw, np.zeros(10, int), ("a",),
                          image_shape=(4, 6, 3))
    head, _, packed = dot_pictures.sheet(f"sheet of {name}", ROWS, dataset).partition(",")
    assert head == "data:image/png;base64"
    pixels, (high, wide) = np.array(Image.open(io.BytesIO(base64.b64decode(packed)))), dataset.image_shape[:2]
    across = dot_pictures.across(len(ROWS))
    assert pixels.shape[:2] == (3 * high, across * wide)
    for place, row in enumerate(ROWS):
        down, right = place // across * high, place % across * wide
        assert np.array_equal(pixels[down:down + high, right:right + wide], dataset.image("train", row))
    assert not pixels[2 * high:, wide:].any(), "places of no image are empty"


def test_a_dot_says_its_file_or_its_words():
    one = np.zeros((1, 1)), np.array([0])
    files = Dataset("f", "F", *one, *one, ("a",), files=("shoes/3.png",))
    texts = Dataset("r", "R", *one, *one, ("A",), records=((Record(prompt="Why?", response="A"),),) * 2)
    assert [dot_pictures.description(dataset)(0)
            for dataset in (files, texts, Dataset("n", "N", *one, *one, ("a",)))] == [
        ["shoes/3.png"], ["Why?"], []]
