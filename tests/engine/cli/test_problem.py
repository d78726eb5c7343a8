"""`--data problem.json`: a problem named by dataset, sizes, model and seed, as the pages' commands write it."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.cli import main
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.controlled import step_scoring

SOURCE = {"dataset": "digits", "model": "mlp", "n_train": 60, "n_test": 50, "n_queries": 5, "n_candidates": 4}
STEP = step_scoring("query_loss", 0.1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    Path("problem.json").write_text(json.dumps(SOURCE))
    Path("spec.json").write_text(STEP.model_dump_json())
    return tmp_path


def influence(*options, data="problem.json", spec="spec.json"):
    return main(["influence", "--data", data, "--spec", spec, "--out", "scores.npz", *options])


@pytest.mark.parametrize("model", ["mlp", "softmax"])
def test_scores_are_those_of_the_problem_it_names(folder, model):
    Path("problem.json").write_text(json.dumps({**SOURCE, "model": model}))
    assert influence("--device", "cpu") == 0
    expected = compute(ProblemSource.parse({**SOURCE, "model": model}).build().problem, STEP)[0]
    np.testing.assert_allclose(np.load("scores.npz")["scores"], expected.values, rtol=1e-6, atol=1e-9)
    command = json.loads(Path("scores.json").read_text())["command"].split(" influence ")[1]
    assert main(["influence", *command.split()]) == 0


@pytest.mark.parametrize(("content", "options", "said"), [
    (SOURCE, ["--l2", "0.1"], "defines the model and its training"),
    (SOURCE, ["--model", "cnn"], "defines the model and its training"),
    ({**SOURCE, "dataset": "atlantis"}, [], "atlantis"),
    ({**SOURCE, "modle": "cnn"}, [], "modle"),
    ({**SOURCE, "model": "resnet9000"}, [], "resnet9000"),
    ("{", [], "JSON"),
])
def test_bad_input_is_one_sentence_and_writes_nothing(folder, capsys, content, options, said):
    Path("problem.json").write_text(content if isinstance(content, str) else json.dumps(content))
    assert influence(*options) == 2
    assert said in capsys.readouterr().err and not Path("scores.npz").exists()


def test_an_indefinite_hessian_is_warned_of_in_one_line(folder, capsys):
    process = {"kind": "local_response", "damping": 0.01}
    Path("cg.json").write_text(json.dumps({"behavior": "query_loss", "intervention": {"kind": "infinitesimal"},
                                           "process": process, "estimator": "cg"}))
    assert influence(spec="cg.json") == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("Warning: The Hessian plus damping 0.01 is not positive")]
    assert not any(".py" in line for line in lines)


def test_a_table_of_ones_own_is_the_problem_with_which_the_pages_begin(folder, capsys):
    rows = [f"{k % 7},{'Rome' if k % 2 else 'Oslo'},{'ab'[k % 3 == 0]}" for k in range(40)]
    Path("mine.csv").write_text("\n".join(["age,city,label", *rows]))
    assert influence("--device", "cpu", data="mine.csv") == 0
    said = capsys.readouterr().err
    assert "`city` is read as categories" in said and "30 training examples, 10 queries and 30 candidates" in said
    name = said.split('"dataset": "')[1].split('"')[0]
    expected = compute(ProblemSource(dataset=name, n_train=30, n_queries=10, n_test=10).build().problem, STEP)[0]
    np.testing.assert_allclose(np.load("scores.npz")["scores"], expected.values, rtol=1e-9)
    assert influence("--intercept", data="mine.csv") == 2 and influence(data="nowhere.csv") == 2


def test_every_command_takes_how_own_data_are_read(folder, capsys):
    rows = [f"{'xy'[k % 2]},{'ab'[k % 3 == 0]},{k / 7:.3f}" for k in range(40)]
    Path("mine.csv").write_text("\n".join(["kind,side,height", *rows]))
    assert influence(data="mine.csv") == 2 and "is certainly the label column" in capsys.readouterr().err
    assert influence("--device", "cpu", "--label", "kind", data="mine.csv") == 0
    assert "The labels are the column `kind`, as chosen." in capsys.readouterr().err
    assert "--label kind" in json.loads(Path("scores.json").read_text())["command"]
    assert influence("--label", "kind", "--turns", "every") == 2
    assert "--label and --turns say how your own data are read; `problem.json` names" in capsys.readouterr().err
