"""`linear-range`: a table and two lines, and refusals in a sentence."""

import json

import pandas as pd
import pytest

from engine.cli import main

SOURCE = {"dataset": "digits", "model": "mlp", "n_train": 40, "n_queries": 3, "n_candidates": 2, "seed": 0,
          "recipe": {"epochs": 2, "batch_size": 20, "learning_rate": 0.05}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    (tmp_path / "problem.json").write_text(json.dumps(SOURCE))
    return tmp_path


def test_every_change_is_a_row(folder, capsys):
    assert main(["linear-range", "--data", "problem.json", "--candidates", "1", "--out", "range.csv"]) == 0
    table = pd.read_csv(folder / "range.csv")
    assert sorted(table["epsilon"].abs().unique()) == [1e-4, 1e-3, 1e-2, 1e-1, 1.0] and len(table) == 10
    assert table["candidate"].nunique() == 1
    said = capsys.readouterr().out
    assert "derivative" in said and "to a cosine of" in said and "in float32 the derivative differs" in said


def test_softmax_regression_descends_as_it_is_told(folder, capsys):
    (folder / "problem.json").write_text(json.dumps({**SOURCE, "model": "softmax", "recipe": None}))
    assert main(["linear-range", "--data", "problem.json", "--candidates", "1", "--eta", "0.5", "--steps", "20",
                 "--out", "range.csv"]) == 0
    assert len(pd.read_csv(folder / "range.csv")) == 10 and "float64 throughout" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "said"), [
    (["--behavior", "correct"], "has no gradient"), (["--model", "softmax", "--out", "range.txt"], ".csv"),
    (["--eta", "0"], "greater than 0")])
def test_refusals(folder, capsys, options, said):
    assert main(["linear-range", "--data", "problem.json", "--out", "range.csv", *options]) == 2
    assert said in capsys.readouterr().err and not (folder / "range.csv").exists()
