"""`what-taught` and `remove-suspects` write what Python says."""

import numpy as np
import pandas as pd
import pytest

from engine.cli import main


@pytest.fixture
def problem(tmp_path, monkeypatch):
    """Two classes in four features; five examples of class 0 carry a value in the last one and label 1."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 40)
    x, x_query, y_query = rng.normal(size=(80, 4)) + 3 * np.eye(4)[y], rng.normal(size=(10, 4)), y[:10]
    x[:, 3] = x_query[:, 3] = 0
    x[:10:2, 3], y[:10:2], x_query[0, 3] = 8, 1, 8
    np.savez("problem.npz", x_train=x, y_train=y, x_query=x_query, y_query=y_query)


def test_the_suspects_are_written_and_left_out(problem, capsys):
    assert main(["what-taught", "--data", "problem.npz", "--wrong", "0", "--out", "ranking.csv"]) == 0
    ranking = pd.read_csv("ranking.csv")
    assert set(ranking.example[:5]) == {0, 2, 4, 6, 8} and ranking.suspect.sum() == 5 and len(ranking) == 80
    assert "5 training examples stand apart" in capsys.readouterr().out
    assert main(["remove-suspects", "--data", "problem.npz", "--examples", "0,2,4,6,8", "--wrong", "0", "--controls",
                 "1", "--out", "models.csv"]) == 0
    models = pd.read_csv("models.csv").set_index("model")
    assert models.p["without the suspects"] < 0.5 < models.p["without random ones, 1"]


@pytest.mark.parametrize(("options", "said"), [
    ([], "No query is given"), (["--wrong", "10"], "no query 10"), (["--picture", "problem.npz"], "square images")])
def test_what_cannot_be_asked_is_one_sentence(problem, capsys, options, said):
    assert main(["what-taught", "--data", "problem.npz", *options, "--out", "ranking.csv"]) == 2
    assert said in capsys.readouterr().err
