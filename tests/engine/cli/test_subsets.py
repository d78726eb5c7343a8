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
    assert record["draw"] == {"kind": "halves", "count": 30, "share": 0.5, "seed": 0, "among": "candidates",
                              "protocol": "weights", "later": 0}
    assert record["trained_on"].endswith("of the training data") and "initial weights" in record["protocol"]
    assert record["data"] == halves.fingerprint and "--kind halves" in record["command"]
    with np.load("bank.npz") as arrays:
        members = Draw(kind="halves", count=30).membership(25)
        np.testing.assert_allclose(arrays["logits"], retrain(halves, members).logits, atol=1e-8)
    assert run("subsets", "--subsets", "30", "--kind", "halves", "--out", "again.npz", "--retrain", "3") == 0
    said = capsys.readouterr().out
    assert "3 of 30 models trained again" in said and float(said.split("by at most ")[1].split()[0]) < 1e-8


def test_values_are_those_of_python(halves):
    assert run("data-values", "--bank", "bank.npz", "--behavior", "query_logit", "--out", "values.csv") == 0
    table = pd.read_csv("values.csv")
    models = retrain(halves, Draw(kind="halves", count=30).membership(25))
    expected = banzhaf(models.outcomes("query_logit"), models.members)
    np.testing.assert_allclose(table["mean"].to_numpy().reshape(expected.values.shape), expected.values, atol=1e-8)
    np.testing.assert_allclose(table.standard_error, expected.error.ravel(), atol=1e-8)
    assert set(table.value) == {"banzhaf"} and list(table.candidate[:25]) == halves.candidates.tolist()


def test_datamodel_reads_a_bank(problem):
    assert run("subsets", "--subsets", "8", "--out", "bank.npz") == 0
    assert run("datamodel", "--specs", "specs.json", "--bank", "bank.npz", "--out", "a.csv") == 0
    assert run("datamodel", "--specs", "specs.json", "--subsets", "8", "--out", "b.csv") == 0
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.csv"))


def test_protocols_are_written_and_the_ceiling_is_that_of_another_bank(problem, capsys):
    """A convex objective has one optimum: another seed's bank is the same, and the ceiling is 1."""
    asked = ("subsets", "--subsets", "8", "--protocol", "subset", "--among", "all")
    assert run(*asked, "--out", "bank.npz") == 0 and run(*asked, "--later", "1", "--out", "other.npz") == 0
    assert "Each model is trained on 50% of the training data (protocol `subset`)." in capsys.readouterr().out
    record = json.loads(Path("other.json").read_text())
    assert (record["draw"]["protocol"], record["draw"]["among"], record["draw"]["later"]) == ("subset", "all", 1)
    assert "--protocol subset" in record["command"] and record["trained_on"] == "50% of the training data"
    read = ("datamodel", "--specs", "specs.json", "--bank", "bank.npz", "--out", "lds.csv")
    assert run(*read, "--other", "other.npz") == 0
    table = pd.read_csv("lds.csv")
    assert set(table.protocol) == {"subset"} and set(table.among) == {"all"} and set(table.trained_on) == {0.5}
    np.testing.assert_allclose(table.ceiling, 1.0, atol=1e-9)
    assert run(*read, "--other", "bank.npz") == 2 and "another training seed" in capsys.readouterr().err
    assert run("subsets", "--protocol", "plain", "--out", "c.npz") == 2 and "`protocol`" in one_line(capsys)


def test_a_bank_of_an_earlier_version_is_read(problem):
    """Its draw says neither protocol nor among."""
    assert run("subsets", "--subsets", "8", "--out", "bank.npz") == 0
    record = json.loads(Path("bank.json").read_text())
    record["draw"] = {name: record["draw"][name] for name in ("kind", "count", "share", "seed")}
    for later in ("trained_on", "protocol"):
        del record[later]
    Path("bank.json").write_text(json.dumps(record))
    assert run("datamodel", "--specs", "specs.json", "--bank", "bank.npz", "--out", "lds.csv") == 0
    assert set(pd.read_csv("lds.csv").protocol) == {"weights"}


def test_what_does_not_belong_is_refused(halves, capsys):
    values = ("data-values", "--bank", "bank.npz", "--out", "values.csv")
    capsys.readouterr()
    assert main([*values, "--data", "problem.npz", "--l2", "0.5"]) == 2 and "a different problem" in one_line(capsys)
    assert run("subsets", "--subsets", "8", "--out", "other.npz") == 0
    capsys.readouterr()
    assert run("data-values", "--bank", "other.npz", "--out", "values.csv") == 2
    assert "give no Banzhaf or Shapley value" in one_line(capsys)
    assert run("subsets", "--kind", "some", "--out", "third.npz") == 2 and "`kind`" in one_line(capsys)
    content = bytearray(Path("bank.npz").read_bytes())
    content[200] ^= 1
    Path("bank.npz").write_bytes(content)
    assert run(*values) == 2 and "is not the file that its manifest" in one_line(capsys)
    assert not Path("values.csv").exists()
