"""Score files are read where they are whole and belong to the problem."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.analysis.explanation import explain
from engine.cli import main
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import REMOVE, STEP, bring, brought, run
from tests.engine.single_thread import one_thread  # noqa: F401


def test_scores_of_influence_are_read_too(problem, capsys):
    assert main(["influence", "--data", "problem.npz", "--spec", "step.json", "--out", "near.npz", "--l2", "0.01"]) == 0
    assert main(["influence", "--data", "problem.npz", "--spec", "loo.json", "--out", "away.npz", "--l2", "0.01"]) == 0
    assert run("explain", "--scores", "near.npz", "--scores", "away.npz", "--out", "why.json") == 0
    expected = explain(problem, Scoring.parse(STEP), Scoring.parse(REMOVE))
    assert json.loads(Path("why.json").read_text())["sentence"] == expected.sentence


@pytest.mark.parametrize("change", [
    {"spec": None}, {"spec": 3}, {"spec": {}}, {"spec": {"behavior": [1]}}, {"spec": "brought:x"}, {"files": []},
    {"files": {"a": 3}}, {"data": None}])
def test_an_altered_manifest_is_refused_in_a_sentence(problem, capsys, change):
    brought(problem)
    assert bring() == 0
    Path("ours.json").write_text(json.dumps({**json.loads(Path("ours.json").read_text()), **change}))
    capsys.readouterr()
    assert run("explain", "--specs", "specs.json", "--scores", "ours.npz", "--between", "theirs", "--between", "loo",
               "--out", "why.json") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.endswith(".\n") and "should not have happened" not in said, said


def test_changed_scores_and_other_problems_are_refused(problem, capsys):
    brought(problem)
    assert bring() == 0
    content = np.load("ours.npz")
    assert main(["explain", "--data", "problem.npz", "--l2", "0.1", "--specs", "specs.json", "--scores", "ours.npz",
                 "--between", "theirs", "--between", "loo", "--out", "why.json"]) == 2
    assert "another problem" in capsys.readouterr().err
    np.savez("ours.npz", **{**content, "scores": content["scores"] + 1})
    assert run("explain", "--specs", "specs.json", "--scores", "ours.npz", "--between", "theirs", "--between", "loo",
               "--out", "why.json") == 2
    assert "is not the file that its manifest" in capsys.readouterr().err
