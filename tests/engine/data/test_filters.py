"""What a text means of a training set: rows, classes, files, words of records."""

import numpy as np
import pytest

from engine.basics.errors import InvalidInput
from engine.data import Dataset, draw
from engine.data.filters import Listing, rows_in
from engine.data.records import Record

LABELS = np.array([0, 1, 0, 1, 0, 1])
FILES = ("shoes/a_back.png", "shoes/b.png", "Bags/c_back.png", "bags/d.png", "bags/e [1].png", "bags/f|g.png")


@pytest.fixture
def pictures():
    """The drawn rows stand in another order than those of the dataset."""
    dataset = Dataset("own", "Own", np.arange(12.0).reshape(6, 2), LABELS, np.ones((2, 2)), np.array([0, 1]),
                      ("boot", "bag & co"), files=FILES, flags=np.array([False, True, False, False, True, False]))
    sample = draw(dataset, seed=3)
    return Listing.of(dataset, sample), sample.train_index


def originals(drawn, text):
    listing, place = drawn
    return sorted(place[listing.rows(text)].tolist())


@pytest.mark.parametrize(("text", "rows"), [
    ("label = boot", [0, 2, 4]), ("LABEL=Boot", [0, 2, 4]), ("label = boot | bag ? co", [0, 1, 2, 3, 4, 5]),
    ("file = bags/*", [2, 3, 4, 5]), ("file = *_back.png & label = boot", [0, 2]), ("file = bags/e [1].png", [4]),
    ("flag = wrong", [1, 4]), ("flag = wrong & label = boot", [4]), ("file = *.png & flag = *", [1, 4])])
def test_of_pictures(pictures, text, rows):
    assert originals(pictures, text) == rows


def test_rows_are_those_of_the_draw(pictures):
    listing, place = pictures
    assert listing.rows("3, 0-1") == [0, 1, 3]
    assert listing.rows("0-2 & label = boot") == [row for row in range(3) if LABELS[place[row]] == 0]


@pytest.mark.parametrize(("text", "why"), [
    ("", "No training example matches"), ("three", "`three` matches no training example"), ("6", "the rows are 0 to 5"),
    ("0-999999999", "no training example 999999999"), ("4-2", "runs backwards; write 2-4"),
    ("colour = red", "not a field to filter by; use `label`, `file` or `flag`"),
    ("label = hat", "there is `b"), ("label =", "no value to compare with"), ("label", "matches no training example"),
    ("label = boot & flag = wrong & 0-5 & file = bags/d*", "No training example matches")])
def test_what_means_none(pictures, text, why):
    with pytest.raises(InvalidInput, match=why.replace("*", r"\*")):
        pictures[0].rows(text)


def test_a_long_list_of_values_is_cut():
    with pytest.raises(InvalidInput, match="or one of 92 others"):
        Listing.of_labels(np.arange(100)).rows("label = x")


def test_of_records():
    records = tuple(Record(id=f"r{row}", prompt=f"Which {noun}?\nThink.", response=f"The answer is {letter}.",
                           spans={"answer": (14, 15)}, flags=flags)
                    for row, (noun, letter, flags) in enumerate([("mammal", "A", ()), ("bird", "B", ("poison", "odd")),
                                                                 ("mammal", "B", ("odd",))]))
    dataset = Dataset("r", "R", np.arange(3.0)[:, None], np.array([0, 1, 1]), np.zeros((1, 1)), np.array([0]),
                      ("A", "B"), records=(records, records[:1]))
    listing = Listing.of(dataset, draw(dataset))
    assert listing.rows("prompt = *MAMMAL*") == [0, 2] and listing.rows("answer = B & prompt = *mammal*") == [2]
    assert listing.rows("flag = poison") == [1] and listing.rows("flag = odd") == [1, 2]
    assert listing.rows("id = r0 | r2") == [0, 2] and listing.rows("response = *is B.") == [1, 2]
    with pytest.raises(InvalidInput, match="use `answer`, `prompt`, `response`, `id` or `flag`"):
        listing.rows("label = A")


@pytest.mark.parametrize("text", ["0-600,700-1300", "0-999999999"])
def test_too_many_rows(text):
    with pytest.raises(InvalidInput, match="at most 1,000"):
        rows_in(text, 1_000)
