"""`group` and `removal-curve` write what Python says."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.analysis import removal_curve as curves
from engine.analysis.groups import group_effect
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import REMOVE, SPECS, run
from tests.engine.single_thread import one_thread  # noqa: F401


def test_a_group_beside_its_examples(problem, capsys):
    Path("loo.json").write_text(json.dumps(REMOVE))
    assert run("group", "--spec", "loo.json", "--examples", "4,0, 7", "--out", "group.csv") == 0
    table, found = pd.read_csv("group.csv"), group_effect(problem, Scoring.parse(REMOVE), [4, 0, 7])
    np.testing.assert_allclose(table.whole_group, found.whole, atol=1e-8)
    np.testing.assert_allclose(table.additivity_gap, found.gap, atol=1e-8)
    for rows, words in (("4;0", "with commas between them"), ("4,4", "names an example twice")):
        capsys.readouterr()
        assert run("group", "--spec", "loo.json", "--examples", rows, "--out", "no.csv") == 2
        assert words in capsys.readouterr().err
    assert not Path("no.csv").exists()


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
