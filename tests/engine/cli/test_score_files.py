"""Score files are read where they are whole and belong to the problem."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.analysis.comparison import compare
from engine.analysis.explanation import explain
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.cli.score_files import read_scores, write_scores
from engine.external.importing import matched, scores_of, scoring_of
from engine.external.matching import QUERIES
from engine.external.table import Table
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
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
    assert said.count("\n") == 1 and said.endswith(".\n") and "Unexpected error" not in said, said


def test_changed_scores_and_other_problems_are_refused(problem, capsys):
    brought(problem)
    assert bring() == 0
    content = np.load("ours.npz")
    assert main(["explain", "--data", "problem.npz", "--l2", "0.1", "--specs", "specs.json", "--scores", "ours.npz",
                 "--between", "theirs", "--between", "loo", "--out", "why.json"]) == 2
    assert "a different problem" in capsys.readouterr().err
    np.savez("ours.npz", **{**content, "scores": content["scores"] + 1})
    assert run("explain", "--specs", "specs.json", "--scores", "ours.npz", "--between", "theirs", "--between", "loo",
               "--out", "why.json") == 2
    assert "is not the file that its manifest" in capsys.readouterr().err


TAKEN = Scoring.of("query_loss", {"kind": "upweight", "alpha": -0.01}, {"kind": "reoptimize"})


def written_as_before(path, problem, values, sign=1, orientation=1):
    """A file of the time in which the estimator of external scores was `brought:` and a fingerprint, and a negative α
    had the orientation +1: they were kept as they support the behavior."""
    spec = {**TAKEN.canonical(), "estimator": "brought:0123456789abcdef", "name": "theirs"}
    scores = Scores(TAKEN, sign * values, problem.candidates.cpu().numpy(), np.arange(values.shape[1]) != 2,
                    np.zeros(values.shape[1]), {
                        "spec": spec, "orientation": orientation, "exact": False, "data": problem.fingerprint,
                        "sizes": {}, "brought": {"sign": "minus", "sign_decided": {
                            "by": "agreement with the reference", "agreement_with_reference": 0.5}}})
    write_scores(path, scores, "")
    return read_scores([path], problem)


@pytest.mark.parametrize("sign", ["plus", "minus"])
def test_external_scores_are_read_as_they_were_written(problem, sign):
    values = np.arange(len(problem.queries) * len(problem.candidates), dtype=float).reshape(len(problem.queries), -1)
    held = matched(problem, Table(values), QUERIES)
    write_scores(Path("new.npz"), scores_of(problem, held, scoring_of(held, TAKEN, "theirs", sign)), "")
    [read] = read_scores([Path("new.npz")], problem).values()
    np.testing.assert_array_equal(read.oriented, values if sign == "plus" else -values)
    assert read.provenance["orientation"] == read.scoring.orientation == -1


def test_external_scores_that_were_written_before_support_what_they_did(problem):
    values = np.arange(len(problem.queries) * len(problem.candidates), dtype=float).reshape(len(problem.queries), -1)
    for stated in (1, -1):
        found = written_as_before(Path("old.npz"), problem, stated * values, orientation=stated)
        read = found["theirs"]
        np.testing.assert_array_equal(read.oriented[:, read.converged], values[:, read.converged])
        assert (~read.converged).nonzero()[0].tolist() == [2] and read.scoring.orientation == -1
        assert read.scoring.route.facts["brought"]["sign_decided"]["by"] == "agreement with the reference"
    raised = compute(problem, Scoring.of("query_loss", {"kind": "upweight", "alpha": 0.01}, {"kind": "reoptimize"}))[0]
    mine = compute(problem, TAKEN)[0]
    found = written_as_before(Path("computed.npz"), problem, mine.oriented)["theirs"]
    assert compare([[raised, found]]).agreement("kendall_tau", 0, 1).mean > 0.5


def test_an_orientation_that_is_none_is_refused(problem):
    with pytest.raises(InvalidInput, match="neither 1 nor −1"):
        written_as_before(Path("ours.npz"), problem, compute(problem, TAKEN)[0].values, orientation=0)


def test_no_output_replaces_the_manifest_of_scores(problem, capsys):
    brought(problem)
    assert bring() == 0
    before = Path("ours.json").read_text()
    capsys.readouterr()
    assert run("explain", "--specs", "specs.json", "--scores", "ours.npz", "--between", "theirs", "--between", "loo",
               "--out", "ours.json") == 2
    assert "`ours.json` is the manifest of `ours.npz`" in capsys.readouterr().err
    assert Path("ours.json").read_text() == before and bring() == 0  # which writes both anew
