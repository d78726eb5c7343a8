"""The rows of a table as they were brought: beside what is said of them, and in the cards of the review desk."""

import numpy as np
import pandas as pd

from app.noisy_labels import data, review_example
from engine.applications.noisy_labels.own import own_source


def test_rows_of_a_table_are_shown_as_they_were_brought(tmp_path, home):
    towns = np.array(["Bath", "<b>Ely</b>"] * 20, dtype=object)
    towns[::7] = None
    frame = pd.DataFrame({"age": np.arange(40) / 4, "town": towns, "given": range(40), "label": ["a", "b"] * 20})
    frame.to_csv(tmp_path / "people.csv", index=False)
    sample = own_source(tmp_path / "people.csv", {"trusted_from": "labels in doubt", "trusted": 1}).draw()
    chosen = [2, 0]
    shown = data.beside(pd.DataFrame({"picture": "", "given": ["x", "y"]}), sample, chosen)
    assert list(shown.columns) == ["given", "age", "town", "given (column)"]
    numbers = shown["given (column)"].tolist()
    assert shown["age"].tolist() == [frame["age"][number] for number in numbers]
    own = data.usual(sample)
    at = next(index for index in range(len(sample.rows)) if own.frame["given"][index] == 14)
    assert [(cell.column, cell.value) for cell in own.cells(own.frame.iloc[at], 0)] == [
        ("age", "3.5"), ("town", "empty"), ("given", "14")]
    other = next(index for index in range(len(sample.rows)) if "Ely" in str(own.frame["town"][index]))
    card = review_example.picture(sample, "train", int(sample.rows[other]), 60, "a row")
    assert "town" in card and "&lt;b&gt;Ely" in card and "<b>" not in card
    assert "town" in review_example.picture(sample, "test", 0, 60, "a held-out row")
