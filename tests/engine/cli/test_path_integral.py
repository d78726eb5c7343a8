"""`path-integral`: both sides of Eq. 7 agree, and a path that cannot be followed is refused."""

import json
from pathlib import Path

import pandas as pd
import pytest

from engine.cli import main

SOURCE = {"dataset": "digits", "model": "mlp", "n_train": 60, "n_test": 50, "n_queries": 5, "n_candidates": 4}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    Path("problem.json").write_text(json.dumps(SOURCE))
    return tmp_path


@pytest.mark.slow
def test_the_path_integral_equals_the_difference_of_its_ends(folder, capsys):
    """Softmax regression, and the last layer of a network, which is followed in float64."""
    for source in ({**SOURCE, "model": "softmax"}, {**SOURCE, "selection": "last_layer", "l2": 0.01}):
        Path("problem.json").write_text(json.dumps(source))
        assert main(["path-integral", "--data", "problem.json", "--example", "7", "--out", "path.csv"]) == 0
        table = pd.read_csv("path.csv")
        assert len(table) == 5 and (table.integral - table.difference).abs().max() < 1e-6
        assert table.difference.abs().max() > 1e-4 and "largest gap" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "said"), [
    (["--example", "60"], "There is no training example 60"), (["--example", "1", "--alpha", "-1"], "positive weight"),
    (["--example", "1", "--behavior", "correct"], "no gradient"), (["--example", "1", "--behavior", "x"], "behavior"),
    (["--example", "1"], "select at most 4,000")])
def test_a_path_that_cannot_be_followed_is_one_sentence(folder, capsys, options, said):
    assert main(["path-integral", "--data", "problem.json", "--out", "path.csv", *options]) == 2
    assert said in capsys.readouterr().err and not Path("path.csv").exists()
