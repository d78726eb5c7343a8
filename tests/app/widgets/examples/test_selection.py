import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.widgets.examples import selection
from engine.data import Dataset, draw
from engine.data.filters import Listing


@given(st.sets(st.integers(0, 60_000), max_size=200))
def test_a_group_written_and_read_is_the_same(rows):
    assert selection.read(selection.written(rows)) == tuple(sorted(rows))


def test_neighbours_are_written_as_ranges():
    assert selection.written([9, 3, 4, 5, 9]) == "3-5,9" and selection.written([]) == ""


def test_what_a_reader_writes_is_read_with_its_spaces():
    assert selection.read(" 3, 10 - 12 ,") == (3, 10, 11, 12)


@pytest.mark.parametrize("name", ["boot", "bags & co", "a|b", "a name that is longer than a field is wide"])
def test_the_example_of_a_filter_fits_its_class(name):
    dataset = Dataset("own", "Own", np.zeros((2, 1)), np.array([0, 1]), np.zeros((1, 1)), np.array([0]),
                      (name, "other"))
    text = f"{dataset.noun} = {selection.example_of(dataset)}"
    sample = draw(dataset)
    assert sample.y_train[Listing.of(dataset, sample).rows(text)].tolist() == [0]


@pytest.mark.parametrize(("text", "why"), [(text, "matches no training example") for text in ("three", "-3", "1.5")] + [
    ("5-3", "runs backwards"), ("0-999999999", "at most"), ("0-600,700-1300", "at most")])
def test_what_is_no_group_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        selection.read(text)
