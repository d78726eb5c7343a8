"""`export-problem` writes an npz of softmax regression alone."""

import json
from pathlib import Path

from engine.cli import main

SOURCE = {"dataset": "digits", "model": "mlp", "n_train": 60, "n_test": 50, "n_queries": 5, "n_candidates": 4}


def test_an_npz_is_not_exported_of_a_network(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export-problem", "--source", json.dumps(SOURCE), "--out", "problem.npz"]) == 2
    assert "save the source as problem.json" in capsys.readouterr().err and not Path("problem.npz").exists()


def test_an_output_of_another_suffix_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = {name: value for name, value in SOURCE.items() if name != "model"}
    assert main(["export-problem", "--source", json.dumps(asked), "--out", "problem.txt"]) == 2
    assert "ends in `.npz`" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
