"""`explain`: its numbers are those of Python, alone and over seeds."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from engine.analysis.explanation import explain
from engine.cli import main
from engine.data import load_npz
from engine.problems import SoftmaxProblem
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import FIRST, REMOVE, bring, brought, run
from tests.engine.single_thread import one_thread  # noqa: F401


def test_explain_writes_what_python_says(problem, capsys):
    assert run("explain", "--specs", "specs.json", "--between", "loo", "--between", "first, order", "--out",
               "why.json") == 0
    written, expected = json.loads(Path("why.json").read_text()), explain(problem, Scoring.parse(REMOVE),
                                                                     Scoring.parse(FIRST))
    assert written["sentence"] == expected.sentence and written["verdict"] == "both on {B,P,T}"
    assert [link["length"] for link in written["links"]] == pytest.approx([link.length for link in expected.links])
    assert written["path"] - written["direct"] == pytest.approx(written["slack"])
    told = capsys.readouterr()
    assert expected.sentence in told.out and "slack" in told.out and told.err == ""
    command = shlex.split(written["command"])
    assert command[:3] == ["python", "-m", "engine"] and main([*command[3:-1], command[-1]]) == 0


def test_several_problems_are_seeds_of_an_average(problem, capsys):
    rng = np.random.default_rng(9)
    with np.load("problem.npz") as first:
        other = {name: first[name] for name in first.files}
    other["x_train"] = other["x_train"] + rng.normal(size=other["x_train"].shape)
    np.savez("second.npz", **other)
    assert run("explain", "--data", "second.npz", "--specs", "specs.json", "--between", "loo", "--between",
               "first, order", "--out", "why.json") == 0
    written, told = json.loads(Path("why.json").read_text()), capsys.readouterr().out
    both = [problem, SoftmaxProblem.from_arrays(load_npz("second.npz"), l2=1e-2)]
    expected = explain(both, Scoring.parse(REMOVE), Scoring.parse(FIRST))
    assert written["sentence"] == expected.sentence and written["n_seeds"] == 2 and "over 2 seeds" in told
    assert [link["seeds"] for link in written["links"]] == [pytest.approx(link.seeds) for link in expected.links]
    assert written["data"] == [one.fingerprint for one in both]
    assert main(shlex.split(written["command"])[3:]) == 0
    brought(problem)
    assert bring() == 0
    assert run("explain", "--data", "second.npz", "--specs", "specs.json", "--scores", "ours.npz", "--between",
               "theirs", "--between", "loo", "--out", "no.json") == 2 and not Path("no.json").exists()
