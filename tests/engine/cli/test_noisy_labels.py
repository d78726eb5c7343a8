"""`noisy-labels` writes a score for every label, and refuses with one sentence."""

import json

import pandas as pd
import pytest

from engine.cli import main
from tests.engine.applications.noisy_labels.sources import source


def test_every_label_has_its_scores(tmp_path, capsys):
    out = tmp_path / "suspicion.csv"
    chosen = source(model="mlp").model_dump_json(exclude_defaults=True)
    assert main(["noisy-labels", "--source", chosen, "--out", str(out)]) == 0
    table = pd.read_csv(out)
    assert len(table) == 150 and {"TracIn · target logit", "Confident learning", "label"} <= set(table.columns)
    assert "AUPRC" in capsys.readouterr().out


def test_what_if_reads_changes_and_writes_accuracies(tmp_path, capsys):
    changes, out = tmp_path / "changes.csv", tmp_path / "accuracy.csv"
    changes.write_text("row,label\n3,\n5,2\n")
    asked = ["what-if-labels", "--source", source(model="mlp").model_dump_json(), "--changes", str(changes), "--out",
             str(out), "--seeds", "2"]
    assert main(asked) == 0
    table = pd.read_csv(out).set_index("what")
    assert list(table.index) == ["before", "after", "change"] and (table["n_seeds"] == 2).all()
    changes.write_text("row,label\nx,\n")
    assert main(asked) == 2 and "whole numbers in the columns" in capsys.readouterr().err
    changes.unlink()
    assert main(asked) == 2 and "There is no file" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "said"), [
    ("{", "--source is not JSON"), (json.dumps({"noise": 1}), "`noise` is 1"),
    (json.dumps({"nois": 0}), "Unknown key")])
def test_bad_sources(tmp_path, capsys, given, said):
    assert main(["noisy-labels", "--source", given, "--out", str(tmp_path / "x.csv")]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())
