"""`bring`, `explain`, and what they add to `compare`: numbers are Python's, faults are sentences, no half files."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from engine.analysis.comparison import compare
from engine.analysis.datamodels import linear_datamodeling_score, retrain, subsets
from engine.analysis.explanation import explain
from engine.analysis.self_influence import self_influence
from engine.cli import main
from engine.data import load_npz
from engine.problems import SoftmaxProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.single_thread import one_thread  # noqa: F401

STEP = {"behavior": "query_loss", "intervention": {"kind": "add_occurrence"},
        "process": {"kind": "one_step", "eta": 0.3}}
REMOVE = {"behavior": "query_logit", "intervention": {"kind": "remove"}, "process": {"kind": "reoptimize"}}
FIRST = {**STEP, "estimator": "first_order"}
SPECS = {"step": STEP, "loo": REMOVE, "first, order": FIRST}


@pytest.fixture
def problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, 37)])
    np.savez("problem.npz", x_train=rng.normal(size=(40, 4)) + y[:, None], y_train=y,
             x_query=rng.normal(size=(6, 4)) + 1, y_query=rng.integers(0, 3, 6), candidates=rng.permutation(40)[:25])
    for name, spec in (("step", STEP), ("loo", REMOVE)):
        (tmp_path / f"{name}.json").write_text(json.dumps(spec))
    (tmp_path / "specs.json").write_text(json.dumps([{"name": name, "spec": spec} for name, spec in SPECS.items()]))
    return SoftmaxProblem.from_arrays(load_npz("problem.npz"), l2=1e-2)


def run(command, *options):
    return main([command, "--data", "problem.npz", "--l2", "0.01", *options])


def brought(problem, turned=True, name="theirs.npy"):
    scores = compute(problem, Scoring.parse(REMOVE))[0].values  # positive: leaving out helps
    noisy = scores + 0.2 * scores.std() * np.random.default_rng(1).normal(size=scores.shape)
    np.save(name, noisy.T if turned else noisy)
    return noisy


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


def test_bring_tells_axes_and_sign_and_writes_scores(problem, capsys):
    noisy = brought(problem)
    assert main(["bring", "--scores", "theirs.npy", "--data", "problem.npz", "--spec", "loo.json", "--out", "ours.npz",
                 "--l2", "0.01", "--name", "theirs"]) == 0
    told = capsys.readouterr().out
    assert "one row a training example" in told and "sign read as minus" in told
    with np.load("ours.npz") as written:
        np.testing.assert_allclose(written["scores"], noisy)
    manifest = json.loads(Path("ours.json").read_text())
    assert manifest["brought"]["axes"] == "candidates" and manifest["spec"]["name"] == "theirs"
    command = shlex.split(manifest["command"])
    assert main(command[3:]) == 0

    assert run("compare", "--specs", "specs.json", "--scores", "ours.npz", "--metric", "spearman", "--out",
               "agreement.csv") == 0
    table = pd.read_csv("agreement.csv")
    assert list(table.columns) == ["a", "b", "metric", "mean", "ci95", "n_queries", "n_dropped", "verdict"]
    row = table[(table.a == "loo") & (table.b == "theirs") & (table.metric == "spearman_rho")].iloc[0]
    exact = compute(problem, Scoring.parse(REMOVE))[0].values
    assert row["mean"] == pytest.approx(np.mean([spearmanr(x, y).statistic for x, y in zip(exact, noisy, strict=True)]))
    assert row.verdict == "approximation error"

    assert run("explain", "--specs", "specs.json", "--scores", "ours.npz", "--between", "theirs", "--between", "step",
               "--out", "why.json") == 0
    assert "the approximation error of theirs" in capsys.readouterr().out
    assert run("explain", "--scores", "ours.npz", "--out", "why.json") == 2


def test_scores_of_influence_are_read_too(problem, capsys):
    assert main(["influence", "--data", "problem.npz", "--spec", "step.json", "--out", "near.npz", "--l2", "0.01"]) == 0
    assert main(["influence", "--data", "problem.npz", "--spec", "loo.json", "--out", "away.npz", "--l2", "0.01"]) == 0
    assert run("explain", "--scores", "near.npz", "--scores", "away.npz", "--out", "why.json") == 0
    expected = explain(problem, Scoring.parse(STEP), Scoring.parse(REMOVE))
    assert json.loads(Path("why.json").read_text())["sentence"] == expected.sentence


def test_a_comparison_without_more_is_as_before(problem):
    assert run("compare", "--specs", "specs.json", "--out", "agreement.csv") == 0
    scores = compute(problem, [Scoring.parse(spec) for spec in SPECS.values()])
    expected = compare([scores], list(SPECS)).table()
    assert pd.read_csv("agreement.csv")["mean"].tolist() == pytest.approx(expected["mean"].tolist())
    assert sorted(set(pd.read_csv("agreement.csv").metric)) == ["kendall_tau", "sign_agreement", "top_overlap"]


def bring(*options, scores="theirs.npy", out="ours.npz"):
    return main(["bring", "--scores", scores, "--data", "problem.npz", "--spec", "loo.json", "--out", out, "--l2",
                 "0.01", *options])


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bring(scores="nothing.npy"), "There is no file"),
    (lambda: bring(scores="noise.npy"), "Give --sign plus, or --sign minus"),
    (lambda: bring("--sign", "up"), "give plus, minus or auto"),
    (lambda: bring("--axes", "rows"), "give queries, candidates or auto"),
    (lambda: bring("--axes", "queries"), "The table is 25 × 6"),
    (lambda: bring(scores="cube.npy"), "shape"),
    (lambda: bring(out="theirs.npy"), "ends in `.npz`"),
    (lambda: run("explain", "--specs", "specs.json", "--out", "ours.json"), "name two of them with --between"),
    (lambda: run("explain", "--specs", "specs.json", "--between", "loo", "--between", "nobody", "--out", "ours.json"),
     "nothing named `nobody`"),
    (lambda: run("explain", "--specs", "specs.json", "--scores", "absent.npz", "--out", "ours.json"), "There is no"),
    (lambda: run("compare", "--specs", "specs.json", "--metric", "pearson", "--out", "ours.csv"),
     "no agreement metric"),
])
def test_faults_are_one_sentence_and_leave_no_file(problem, tmp_path, capsys, call, words):
    brought(problem)
    np.save("noise.npy", np.random.default_rng(3).normal(size=(25, 6)))
    np.save("cube.npy", np.zeros((2, 2, 2)))
    assert call() == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    assert not list(tmp_path.glob("ours.*"))


def test_a_first_row_in_doubt_is_asked_for(problem, capsys):
    noisy = brought(problem, turned=False)
    rows = [",".join(map(repr, row.tolist())) for row in noisy]
    Path("odd.csv").write_text("\n".join([",".join(map(str, range(100, 100 + noisy.shape[1]))), *rows]))
    assert bring(scores="odd.csv") == 2
    assert "Give --first-row names, or --first-row scores." in capsys.readouterr().err and not Path("ours.npz").exists()
    Path("named.csv").write_text("\n".join([",".join(map(str, problem.candidates.tolist()[::-1])),
                                            *[",".join(map(repr, row[::-1].tolist())) for row in noisy]]))
    assert bring(scores="named.csv") == 0
    assert "read as the names of the columns" in capsys.readouterr().out
    with np.load("ours.npz") as written:
        np.testing.assert_allclose(written["scores"], noisy)
    assert main(shlex.split(json.loads(Path("ours.json").read_text())["command"])[3:]) == 0


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


def test_datamodel_scores_models_on_subsets(problem):
    assert run("datamodel", "--specs", "specs.json", "--subsets", "8", "--out", "lds.csv") == 0
    table = pd.read_csv("lds.csv").set_index("name")
    kept = subsets(25, 8)
    models = retrain(problem, kept)
    for name, spec in SPECS.items():
        scores = compute(problem, Scoring.parse(spec))[0]
        expected = linear_datamodeling_score(scores, models.outcomes(spec["behavior"]), kept)
        assert table["mean"][name] == pytest.approx(np.nanmean(expected)) and table.subsets[name] == 8
    assert run("datamodel", "--specs", "specs.json", "--subsets", "8", "--share", "0.001", "--out", "no.csv") == 2


def test_self_influence_lists_candidates_largest_first(problem):
    assert main(["self-influence", "--data", "problem.npz", "--spec", "step.json", "--out", "self.csv", "--l2",
                 "0.01"]) == 0
    table = pd.read_csv("self.csv")
    values = dict(zip(problem.candidates.tolist(), self_influence(problem, Scoring.parse(STEP)), strict=True))
    assert table.self_influence.is_monotonic_decreasing and len(table) == 25
    assert table.self_influence.tolist() == pytest.approx([values[row] for row in table.candidate])
