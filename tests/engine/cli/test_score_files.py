"""Score files are read where they are whole and belong to the problem."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.analysis.comparison import compare
from engine.analysis.explanation import explain
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.cli.score_files import read_scores, write_scores
from engine.external.claim import Claim
from engine.external.claim import bring as claimed
from engine.external.matching import QUERIES
from engine.external.table import Table
from engine.scoring.compute import compute
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


TAKEN = Scoring.of("query_loss", {"kind": "upweight", "alpha": -0.01}, {"kind": "reoptimize"})


def written_as_before(path, problem, scores):
    """A file of the time in which a negative α had the orientation +1: what was brought was kept as it supports."""
    before = replace(scores, values=scores.oriented if isinstance(scores.scoring, Claim) else scores.values,
                     provenance={**scores.provenance, "orientation": 1})
    write_scores(path, before, "")
    return read_scores([path], problem)


def test_scores_of_a_negative_weight_that_were_written_before_support_what_they_did(problem):
    computed = compute(problem, TAKEN)[0]
    values = np.arange(computed.values.size, dtype=float).reshape(computed.values.shape)
    for sign in (1, -1):
        brought = claimed(problem, Table(values), TAKEN.specification, "theirs", QUERIES, sign)
        np.testing.assert_array_equal(brought.oriented, sign * values)
        for path in ("new.npz", "old.npz"):
            if path == "new.npz":
                write_scores(Path(path), brought, "")
                [found] = read_scores([Path(path)], problem).values()
            else:
                [found] = written_as_before(Path(path), problem, brought).values()
            np.testing.assert_array_equal(found.oriented, sign * values)
            np.testing.assert_array_equal(found.values, -sign * values)
            assert found.provenance["orientation"] == found.scoring.orientation == -1
    [found] = written_as_before(Path("computed.npz"), problem, computed).values()
    np.testing.assert_array_equal(found.values, computed.values)
    np.testing.assert_array_equal(found.oriented, -computed.values)
    assert found.provenance["orientation"] == -1
    raised = compute(problem, Scoring.of("query_loss", {"kind": "upweight", "alpha": 0.01}, {"kind": "reoptimize"}))[0]
    assert compare([[raised, found]]).agreement("kendall_tau", 0, 1).mean > 0.5


def test_an_orientation_that_is_none_is_refused(problem):
    scores = claimed(problem, Table(compute(problem, TAKEN)[0].values), TAKEN.specification, "theirs", QUERIES, 1)
    write_scores(Path("ours.npz"), replace(scores, provenance={**scores.provenance, "orientation": 0}), "")
    with pytest.raises(InvalidInput, match="neither 1 nor −1"):
        read_scores([Path("ours.npz")], problem)
