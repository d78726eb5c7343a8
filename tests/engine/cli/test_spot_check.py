"""`spot-check`: what was measured as JSON and in sentences, or why nothing was."""

import json

import pytest

from engine.cli import main
from tests.engine.cli.commands import FIRST, REMOVE, K, M

LISSA = {**REMOVE, "estimator": "lissa"}


def checked(folder, spec, *options):
    (folder / "spec.json").write_text(json.dumps(spec))
    code = main(["spot-check", "--data", "problem.npz", "--spec", "spec.json", "--out", "check.json", *options])
    return code, json.loads((folder / "check.json").read_text()) if (folder / "check.json").exists() else None


def test_the_measure_is_written_and_said(folder, capsys):
    code, record = checked(folder, LISSA, "--candidates", "6", "--queries", "3", "--seed", "2")
    assert code == 0 and record["measured"] and record["reference"]["estimator"] == "exact"
    assert (record["candidates"], record["of_candidates"], record["queries"], record["of_queries"]) == (6, K, 3, M)
    tau = record["kendall_tau"]
    assert -1 <= tau["mean"] <= 1 and tau["ci95_together"] >= tau["ci95"] >= 0 and record["seed"] == 2
    assert record["top_overlap"]["chance"] == record["top_overlap"]["top"] / 6
    out = capsys.readouterr().out
    assert record["sentence"] in out and "Spot check: 6 of" in out and "Reference, computed exactly" in out
    assert "spot-check" in record["command"] and "--seed 2" in record["command"]
    again = checked(folder, LISSA, "--candidates", "6", "--queries", "3", "--seed", "2")[1]
    assert again["kendall_tau"] == tau


@pytest.mark.parametrize(("spec", "options", "why"), [
    (REMOVE, (), "it is computed exactly"), (LISSA, ("--most-seconds", "0"), "takes about"),
    ({**FIRST, "estimator": "cosine"}, (), "no exact method")])
def test_what_is_not_measured_says_why(folder, capsys, spec, options, why):
    code, record = checked(folder, spec, *options)
    assert code == 0 and not record["measured"] and why in record["why"]
    assert "not measured" in capsys.readouterr().out


def test_a_refusal_is_one_sentence(folder, capsys):
    assert checked(folder, LISSA, "--candidates", "1")[0] == 2
    assert checked(folder, LISSA, "--out", "check.csv") == (2, None)
    assert ".json" in capsys.readouterr().err
