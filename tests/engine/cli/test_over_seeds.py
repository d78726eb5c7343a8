"""`over-seeds`: scores with their standard error, a table of how they are spread, and refusals in a sentence."""

import json

import numpy as np
import pandas as pd
import pytest

from engine.cli import main

SOURCE = {"dataset": "digits", "model": "mlp", "n_train": 20, "n_queries": 2, "n_candidates": 3, "seed": 0,
          "recipe": {"epochs": 1, "batch_size": 10, "learning_rate": 0.05}}
SPEC = {"behavior": "query_loss", "intervention": {"kind": "remove"}, "process": {"kind": "retrain"}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    (tmp_path / "problem.json").write_text(json.dumps(SOURCE))
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    return tmp_path


def test_the_mean_is_written_with_what_it_leaves_open(folder, capsys):
    assert main(["over-seeds", "--data", "problem.json", "--spec", "spec.json", "--out", "mean.npz", "--most", "4",
                 "--spread", "spread.csv"]) == 0
    with np.load(folder / "mean.npz") as arrays:
        assert arrays["scores"].shape == arrays["standard_error"].shape == (2, 3)
    manifest = json.loads((folder / "mean.json").read_text())
    assert manifest["spec"]["process"] == {"kind": "retrain", "seeds": 4} and "over-seeds" in manifest["command"]
    assert len(pd.read_csv(folder / "spread.csv")) == 6
    assert "After 4 seeds the ranking is" in capsys.readouterr().out


def test_refusals(folder, capsys):
    assert main(["over-seeds", "--data", "problem.json", "--spec", "spec.json", "--out", "mean.csv"]) == 2
    assert ".npz" in capsys.readouterr().err
