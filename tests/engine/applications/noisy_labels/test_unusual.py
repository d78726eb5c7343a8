"""Unusual values of a row: by SciPy's median absolute deviation, and by how rare a category is."""

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from engine import data
from engine.applications.noisy_labels.own import own_source
from engine.applications.noisy_labels.unusual import cells, robust_z, rows_of


def test_z_is_that_of_scipy_and_not_defined_without_spread():
    x = np.random.default_rng(0).normal(3.0, 2.0, 101)
    assert np.isclose(robust_z(9.0, x), (9.0 - np.median(x)) / median_abs_deviation(x, scale="normal"))
    assert np.isclose(robust_z(9.0, np.append(x, np.nan)), robust_z(9.0, x))
    assert np.isnan(robust_z(1.0, np.array([0.0, 0.0, 0.0, 5.0])))


def test_values_are_unusual_for_the_label_that_a_row_has():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    frame = pd.DataFrame({"size": rng.normal(0, 1, 120) + 10 * y, "kind": np.where(y, "tree", "grass"),
                          "same": np.ones(120)})
    frame.loc[3, ["size", "kind"]] = [10.0, "tree"]
    first = cells(frame, y, 3)
    assert [(one.column, one.unusual) for one in first] == [("size", True), ("kind", True), ("same", False)]
    assert first[0].z > 3.5 and first[1].value == "tree"
    assert not any(one.unusual and one.column != "size" for one in cells(frame, y, 70))
    few = np.arange(120) == 3  # a label of one row is compared with all
    assert abs(cells(frame, few.astype(int), 3)[0].z) < 3.5


def test_rows_are_those_of_the_table_that_was_brought(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    frame = pd.DataFrame({"age": np.arange(40) / 4, "town": ["Bath", "Ely"] * 20, "label": ["a", "b"] * 20})
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    source = own_source(path, {"trusted_from": "labels in doubt", "trusted": 1})
    noisy = source.draw()
    found = rows_of(noisy)
    rows = [int(noisy.dataset.files[row].removeprefix("row ")) for row in noisy.rows]
    assert list(found.columns) == ["age", "town"] and list(found["age"]) == [row / 4 for row in rows]
    assert list(found["town"]) == [frame["town"][row] for row in rows] and data.uploads.is_upload(source.dataset)
