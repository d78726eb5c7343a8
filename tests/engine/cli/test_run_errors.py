"""`run-errors`: two tables and a line, and refusals in a sentence."""

import json

import pandas as pd
import pytest

from engine.cli import main

SOURCE = {"dataset": "digits", "model": "softmax", "n_train": 30, "n_queries": 3, "n_candidates": 4, "seed": 0}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    (tmp_path / "problem.json").write_text(json.dumps(SOURCE))
    return tmp_path


def test_causes_estimators_and_parts(folder, capsys):
    assert main(["run-errors", "--data", "problem.json", "--eta", "0.5", "--steps", "12", "--out", "errors.csv",
                 "--parts", "parts.csv"]) == 0
    table, parts = pd.read_csv(folder / "errors.csv"), pd.read_csv(folder / "parts.csv")
    assert list(table["name"]) == ["segments", "flow", "source", "dvemb", "tracin_run", "in_run_shapley"]
    assert parts.groupby("candidate").size().tolist() == [12] * 4
    assert "its largest single cause is" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "said"), [(["--behavior", "correct"], "has no gradient"), (["--eta", "0"],
                                                                                               "greater than 0")])
def test_refusals(folder, capsys, options, said):
    assert main(["run-errors", "--data", "problem.json", "--out", "errors.csv", *options]) == 2
    assert said in capsys.readouterr().err and not (folder / "errors.csv").exists()
