"""`group` and `removal-curve` write what Python says."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.analysis import removal_curve as curves
from engine.analysis.groups import group_effect
from engine.question import direction
from engine.question.behaviors import BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import REMOVE, SPECS, influence, run
from tests.engine.single_thread import one_thread  # noqa: F401


def test_a_group_beside_its_examples(problem, capsys):
    Path("loo.json").write_text(json.dumps(REMOVE))
    assert run("group", "--spec", "loo.json", "--examples", "4,0, 7", "--out", "group.csv") == 0
    table, found = pd.read_csv("group.csv"), group_effect(problem, Scoring.parse(REMOVE), [4, 0, 7])
    np.testing.assert_allclose(table.whole_group, found.whole, atol=1e-8)
    np.testing.assert_allclose(table.additivity_gap, found.gap, atol=1e-8)
    assert "3 of 40 training examples" in capsys.readouterr().out
    assert run("group", "--spec", "loo.json", "--examples", "4,0,7", "--whole-only", "--out", "whole.csv") == 0
    whole = pd.read_csv("whole.csv")
    np.testing.assert_allclose(whole.whole_group, found.whole, atol=1e-8)
    assert list(whole.columns) == ["query", "whole_group", "trusted", "examples", "quantity"]
    assert set(whole.quantity) == set(table.quantity) == {direction.raw_change(BEHAVIORS[REMOVE["behavior"]])}


@pytest.mark.parametrize(("options", "words"), [
    (["--examples", "4;0"], "matches no training example"), (["--examples", "40"], "the rows are 0 to 39"),
    (["--examples", "label = 7"], "there is `"), (["--examples", "file = a*"], "use `label`"),
    (["--examples", "label = *"], "contains all 40"),
    (["--examples", "3", "--top", "2"], "with --examples or --top"),
    ([], "with --examples or --top"), (["--examples", "3", "--query", "0"], "apply to --top"),
    (["--top", "31"], "candidates have a score"), (["--top", "2", "--query", "50"], "no query 50")])
def test_no_group(problem, capsys, options, words):
    Path("loo.json").write_text(json.dumps(REMOVE))
    assert run("group", "--spec", "loo.json", *options, "--out", "no.csv") == 2
    assert words in capsys.readouterr().err and not Path("no.csv").exists()


def test_a_class_and_the_top_of_a_ranking(problem):
    Path("loo.json").write_text(json.dumps(REMOVE))
    rows, scoring = np.flatnonzero(problem.y.numpy() == 1), Scoring.parse(REMOVE)
    assert run("group", "--spec", "loo.json", "--examples", "label=1", "--out", "group.csv") == 0
    np.testing.assert_allclose(pd.read_csv("group.csv").whole_group, group_effect(problem, scoring, rows).whole,
                               atol=1e-8)
    [scores] = compute(problem, [scoring])
    best = scores.candidates[np.argsort(-scores.trusted[2])[:4]]
    assert influence(spec="loo.json") == 0
    for ranking in ([], ["--by", "scores.npz"]):
        assert run("group", "--spec", "loo.json", "--top", "4", "--query", "2", *ranking, "--out", "top.csv") == 0
        np.testing.assert_allclose(pd.read_csv("top.csv").whole_group, group_effect(problem, scoring, best).whole,
                                   atol=1e-8)


def test_curves_of_rankings(problem, capsys):
    asked = ("removal-curve", "--specs", "specs.json", "--random", "3", "--out", "curve.csv")
    assert run(*asked, "--remove", "1", "--remove", "6", "--query", "2") == 0
    table = pd.read_csv("curve.csv")
    rankings = {name: (one.scoring, one.trusted) for name, one in zip(SPECS, compute(
        problem, [Scoring.parse(spec) for spec in SPECS.values()]), strict=True)}
    expected = curves.removal_curve(problem, rankings, "query_loss", [2], [1, 6], random=3).table()
    assert list(table.ranking) == list(expected.ranking) and list(table.removed) == [1, 6] * 3
    assert table.change.tolist() == pytest.approx(expected.change.tolist(), abs=1e-8)
    assert run(*asked, "--query", "99") == 2 and "no query 99" in capsys.readouterr().err
