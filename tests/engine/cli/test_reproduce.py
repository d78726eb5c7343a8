"""`reproduce` publishes, compares with the paper, computes once, and goes on after an interruption."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from engine import data
from engine.basics.errors import MissingData
from engine.cli import main
from engine.experiments import EXPERIMENTS, StudyPreset
from engine.jobs import KINDS
from tests.engine.cli.commands import one_line


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """The experiment `tiny`: Table A-6 on a handful of digits; yields the chunks computed so far."""
    computed = []
    source = {"dataset": "digits", "n_train": 80, "n_test": 20, "n_queries": 6, "n_candidates": 8}
    preset = StudyPreset("small", "eighty digits", 2, {"numerics": 1, "slice": 4, "sources": [source]})
    experiment = replace(EXPERIMENTS["table-a6"], name="tiny", presets={"small": preset})
    study = KINDS[experiment.study]

    def counted(payload, key, context):
        computed.append(key)
        return study.run_chunk(payload, key, context)

    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    EXPERIMENTS.add("tiny", experiment)
    KINDS.add(study.name, replace(study, run_chunk=counted), replace=True)
    yield computed
    EXPERIMENTS.remove("tiny")
    KINDS.add(study.name, study, replace=True)


def test_reproduce_publishes_and_compares_and_computes_once(tiny, tmp_path, capsys):
    out = tmp_path / "published"
    assert main(["reproduce", "tiny", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "query loss vs. hard margin" in shown.out and "0.747" in shown.out and shown.err == ""
    table = pd.read_csv(out / "tiny" / "small" / "results.csv")
    assert {"axis", "comparison", "parameter", "metric", "mean", "ci95", "n_seeds"} <= set(table.columns)
    assert len(table) == 30 and set(table.n_seeds) == {2}
    assert (table[table.comparison == "query loss vs. soft margin"]["mean"] == 1.0).all()  # Proposition 1
    manifest = json.loads((out / "tiny" / "small" / "manifest.json").read_text())
    assert manifest["command"] == "python -m engine reproduce tiny --preset small" and manifest["seeds"] == [0, 1]
    assert len(tiny) == 2 * 3
    assert main(["reproduce", "tiny", "--out", str(out)]) == 0
    assert len(tiny) == 2 * 3


def test_reproduce_goes_on_after_ctrl_c(tiny, tmp_path, capsys, monkeypatch):
    study = KINDS[EXPERIMENTS["tiny"].study]

    def stops(payload, key, context):
        if key == "0/0/optima/1":
            raise KeyboardInterrupt
        return study.run_chunk(payload, key, context)

    KINDS.add(study.name, replace(study, run_chunk=stops), replace=True)
    out = tmp_path / "published"
    arguments = ["reproduce", "tiny", "--seeds", "1", "--out", str(out)]
    assert main(arguments) == 130
    assert one_line(capsys).startswith("Interrupted") and not out.exists()
    KINDS.add(study.name, study, replace=True)
    assert main(arguments) == 0
    assert tiny == ["0/0/steps", "0/0/optima/0", "0/0/optima/1"]
    manifest = json.loads((out / "tiny" / "small" / "manifest.json").read_text())
    assert manifest["command"].endswith("--seeds 1")


def test_a_seed_that_is_added_gives_the_table_of_both(tiny, tmp_path, capsys):
    whole, grown = tmp_path / "whole", tmp_path / "grown"
    assert main(["reproduce", "tiny", "--out", str(whole)]) == 0
    arguments = ["reproduce", "tiny", "--seeds", "1", "--out", str(grown)]
    assert main([*arguments, "--first-seed", "1", "--add"]) == 2
    assert "not published" in capsys.readouterr().err and not grown.exists()
    assert main(arguments) == 0
    assert main([*arguments, "--add"]) == 2
    assert "give 1 as the first seed (--first-seed)" in capsys.readouterr().err
    assert main([*arguments, "--first-seed", "1", "--add"]) == 0
    asked, found = (pd.read_csv(out / "tiny" / "small" / "results.csv") for out in (whole, grown))
    pd.testing.assert_frame_equal(found, asked, check_exact=False, rtol=1e-4, atol=2e-6)
    told = json.loads((grown / "tiny" / "small" / "manifest.json").read_text())
    assert told["command"] == "python -m engine reproduce tiny --preset small" and len(told["parts"]) == 2


def test_data_that_are_missing_are_said_before_anything_is_computed(tiny, tmp_path, capsys, monkeypatch):
    def absent():
        raise MissingData("FashionMNIST is not here; fetch it.")

    fashion = data.DATASETS["fashion_mnist"]
    monkeypatch.setitem(EXPERIMENTS["tiny"].presets["small"].settings, "sources", [
        *EXPERIMENTS["tiny"].presets["small"].settings["sources"],
        {"dataset": "fashion_mnist", "n_train": 80, "n_test": 20, "n_queries": 6, "n_candidates": 8}])
    data.DATASETS.add("fashion_mnist", replace(fashion, load=absent, content=lambda: ""), replace=True)
    try:
        assert main(["reproduce", "tiny", "--out", str(tmp_path / "published")]) == 2
    finally:
        data.DATASETS.add("fashion_mnist", fashion, replace=True)
    assert "is not here" in one_line(capsys) and tiny == []
