"""Unusual values of a row: by SciPy's median absolute deviation, and by how rare a category is."""

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from engine import data
from engine.data.unusual import Usual, center_and_spread, rows_of


def test_center_and_spread_are_those_of_scipy():
    x = np.random.default_rng(0).normal(3.0, 2.0, (101, 3))
    median, spread = center_and_spread(x)
    np.testing.assert_allclose(median, np.median(x, 0))
    np.testing.assert_allclose(spread, median_abs_deviation(x, scale="normal"))
    with_empty = np.append(x, np.full((1, 3), np.nan), 0)
    np.testing.assert_allclose(center_and_spread(with_empty)[1], spread)


def test_values_are_unusual_for_the_label_that_a_row_has():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    frame = pd.DataFrame({"size": rng.normal(0, 1, 120) + 10 * y, "kind": np.where(y, "tree", "grass"),
                          "same": np.ones(120), "often empty": np.where(np.arange(120) % 2, 1.0, np.nan)})
    frame.loc[3, ["size", "kind"]] = [10.0, "tree"]
    usual = Usual(frame, y)
    first = usual.cells(frame.iloc[3], 0)
    assert [(one.column, one.unusual) for one in first] == [
        ("size", True), ("kind", True), ("same", False), ("often empty", False)]
    assert first[0].z > 3.5 and first[1].value == "tree" and np.isnan(first[2].z)
    assert [one.value for one in usual.cells(frame.iloc[4], 0) if one.column == "often empty"] == ["empty"]
    assert not any(one.unusual and one.column != "size" for one in usual.cells(frame.iloc[70], 1))
    few = Usual(frame, (np.arange(120) == 3).astype(int))  # a label of one row is compared with all
    assert abs(few.cells(frame.iloc[3], 1)[0].z) < 3.5


def test_numbers_are_written_without_an_exponent_where_a_reader_would():
    values = [20_245.0, 46_250.71, 2_024.0, 0.000_012_34, 3.141_59, 5e12, -123_456.0]
    cells = Usual(pd.DataFrame({"x": values}), np.zeros(7, dtype=int))
    written = [cells.cells(row, 0)[0].value for _, row in cells.frame.iterrows()]
    assert written == ["20245", "46251", "2024", "1.234e-05", "3.142", "5e+12", "-123456"]


def test_an_empty_number_is_unusual_where_others_have_one():
    frame = pd.DataFrame({"age": [*np.arange(60.0), np.nan], "town": ["Bath"] * 60 + [None]})
    cells = Usual(frame, np.zeros(61, dtype=int)).cells(frame.iloc[60], 0)
    assert [(one.column, one.value, one.unusual) for one in cells] == [("age", "empty", True), ("town", "empty", True)]


def test_rows_are_those_of_the_table_that_was_uploaded(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    frame = pd.DataFrame({"age": np.arange(40) / 4, "town": ["Bath", "Ely"] * 20, "label": ["a", "b"] * 20})
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    dataset = data.load(data.uploads.keep_path(path))
    for split, files in (("train", dataset.files), ("test", dataset.test_files)):
        rows, own = [int(file.removeprefix("row ")) for file in files], rows_of(dataset, split)
        assert list(own.columns) == ["age", "town"] and list(own["age"]) == [row / 4 for row in rows]
        assert list(own["town"]) == [frame["town"][row] for row in rows]


def test_rows_without_a_table_are_the_features():
    own = rows_of(data.load("digits"), "test")
    assert own.shape == (500, 64) and own.columns[3] == "x3"


def test_identifiers_and_texts_are_not_unusual_though_each_value_is_rare():
    frame = pd.DataFrame({"id": [f"r{row}" for row in range(100)], "text": [f"text {row // 2}" for row in range(100)],
                          "kind": ["oak"] * 99 + ["elm"]})
    usual = Usual(frame, np.zeros(100, dtype=int))
    assert [(one.column, one.unusual) for one in usual.cells(frame.iloc[99], 0)] == [
        ("kind", True), ("id", False), ("text", False)]
    assert not any(one.unusual for one in usual.cells(frame.iloc[0], 0))
