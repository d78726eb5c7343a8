"""`map` writes what Python says."""

import pandas as pd
import pytest

from engine.analysis.embedding import embedding
from engine.cli import main


@pytest.mark.parametrize("dimensions", [2, 3])
def test_map_writes_the_coordinates(problem, dimensions, capsys):
    assert main(["map", "--data", "problem.npz", "--dimensions", str(dimensions), "--out", "map.csv"]) == 0
    table, found = pd.read_csv("map.csv"), embedding(problem, "pca", dimensions)
    assert table[list("xyz")[:dimensions]].to_numpy() == pytest.approx(found.coordinates)
    assert table.label.tolist() == problem.y.tolist() and table.training_example.tolist() == list(range(problem.n))
    assert f"{found.kept:.1%}" in capsys.readouterr().out


@pytest.mark.parametrize("options, why", [(["--method", "isomap"], "isomap"), (["--dimensions", "4"], "2 or 3")])
def test_map_refuses_in_one_sentence(problem, options, why, capsys, tmp_path):
    assert main(["map", "--data", "problem.npz", *options, "--out", "map.csv"]) == 2
    assert why in capsys.readouterr().err and not (tmp_path / "map.csv").exists()
