"""`subsets` and `data-values`: models as a file that is checked, and values that are those of Python."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.analysis.data_values import banzhaf
from engine.analysis.datamodels import retrain
from engine.analysis.subset_bank import Draw
from engine.cli import main
from tests.engine.cli.commands import one_line, run
from tests.engine.single_thread import one_thread  # noqa: F401


@pytest.fixture
def halves(problem):
    assert run("subsets", "--subsets", "30", "--kind", "halves", "--out", "bank.npz") == 0
    return problem


def test_a_bank_holds_the_models_and_says_which(halves, capsys):
    record = json.loads(Path("bank.json").read_text())
    assert record["draw"] == {"kind": "halves", "count": 30, "share": 0.5, "seed": 0}
    assert record["data"] == halves.fingerprint and "--kind halves" in record["command"]
    with np.load("bank.npz") as arrays:
        np.testing.assert_allclose(arrays["logits"], retrain(halves, Draw(kind="halves", count=30).kept(25)).logits,
                                   atol=1e-8)
    assert run("subsets", "--subsets", "30", "--kind", "halves", "--out", "again.npz", "--retrain", "3") == 0
    said = capsys.readouterr().out
    assert "3 of 30 models trained again" in said and float(said.split("by ")[1].split()[0]) < 1e-8


def test_values_are_those_of_python(halves):
    assert run("data-values", "--bank", "bank.npz", "--behavior", "query_logit", "--out", "values.csv") == 0
    table = pd.read_csv("values.csv")
    models = retrain(halves, Draw(kind="halves", count=30).kept(25))
    expected = banzhaf(models.outcomes("query_logit"), models.kept)
    np.testing.assert_allclose(table["mean"].to_numpy().reshape(expected.values.shape), expected.values, atol=1e-8)
    np.testing.assert_allclose(table.standard_error, expected.error.ravel(), atol=1e-8)
    assert set(table.value) == {"banzhaf"} and list(table.candidate[:25]) == halves.candidates.tolist()


def test_datamodel_reads_a_bank(problem):
    assert run("subsets", "--subsets", "8", "--out", "bank.npz") == 0
    assert run("datamodel", "--specs", "specs.json", "--bank", "bank.npz", "--out", "a.csv") == 0
    assert run("datamodel", "--specs", "specs.json", "--subsets", "8", "--out", "b.csv") == 0
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.csv"))


def test_what_does_not_belong_is_refused(halves, capsys):
    values = ("data-values", "--bank", "bank.npz", "--out", "values.csv")
    capsys.readouterr()
    assert main([*values, "--data", "problem.npz", "--l2", "0.5"]) == 2 and "another problem" in one_line(capsys)
    assert run("subsets", "--subsets", "8", "--out", "other.npz") == 0
    assert run("data-values", "--bank", "other.npz", "--out", "values.csv") == 2
    assert "give no Banzhaf or Shapley value" in one_line(capsys)
    assert run("subsets", "--kind", "some", "--out", "third.npz") == 2 and "`kind`" in one_line(capsys)
    content = bytearray(Path("bank.npz").read_bytes())
    content[200] ^= 1
    Path("bank.npz").write_bytes(content)
    assert run(*values) == 2 and "is not the file that its manifest" in one_line(capsys)
    assert not Path("values.csv").exists()
