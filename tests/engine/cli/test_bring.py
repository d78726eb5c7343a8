"""`bring`, and what brought scores add to `compare` and `explain`: faults are sentences, and leave no half files."""

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from engine.cli import main
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import REMOVE, STEP, bring, brought, run
from tests.engine.single_thread import one_thread  # noqa: F401


def test_bring_tells_axes_and_sign_and_writes_scores(problem, capsys):
    noisy = brought(problem)
    assert main(["bring", "--scores", "theirs.npy", "--data", "problem.npz", "--spec", "loo.json", "--out", "ours.npz",
                 "--l2", "0.01", "--name", "theirs"]) == 0
    told = capsys.readouterr().out
    assert "one row per training example" in told and "sign read as minus" in told
    with np.load("ours.npz") as written:
        np.testing.assert_allclose(written["scores"], noisy)
    manifest = json.loads(Path("ours.json").read_text())
    assert manifest["brought"]["axes"] == "candidates" and "name=theirs" in manifest["spec"]["estimator"]
    decided = manifest["brought"]["sign_decided"]
    assert decided["by"] == "agreement with the reference" and "itself the exact answer" in decided["reference_quality"]
    assert "itself the exact answer to the claimed question" in told and "decided by agreement with the" in told
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


@pytest.mark.parametrize(("call", "words"), [
    (lambda: bring(scores="nothing.npy"), "There is no file"),
    (lambda: bring(scores="noise.npy"), "Give --sign plus, --sign minus or --sign unsigned"),
    (lambda: bring("--sign", "up"), "give plus, minus, unsigned or auto"),
    (lambda: bring("--axes", "rows"), "give queries, candidates or auto"),
    (lambda: bring("--order", "rows"), "give candidates, training or auto"),
    (lambda: bring(scores="noise.npy"), "check that queries and training examples are those of this problem"),
    (lambda: bring(scores="header.csv"), "The table is 5 × 25"),
    (lambda: bring("--axes", "queries"), "The table is 25 × 6"),
    (lambda: bring(scores="cube.npy"), "shape"),
    (lambda: bring(out="theirs.npy"), "ends in `.npz`"),
    (lambda: run("explain", "--specs", "specs.json", "--out", "ours.json"), "name the two to explain (--between)"),
    (lambda: run("explain", "--specs", "specs.json", "--between", "loo", "--between", "nobody", "--out", "ours.json"),
     "No specification or score file is named `nobody`"),
    (lambda: run("explain", "--specs", "specs.json", "--scores", "absent.npz", "--out", "ours.json"), "There is no"),
    (lambda: run("compare", "--specs", "specs.json", "--metric", "pearson", "--out", "ours.csv"),
     "no agreement metric"),
])
def test_faults_are_one_sentence_and_leave_no_file(problem, tmp_path, capsys, call, words):
    brought(problem)
    np.save("noise.npy", np.random.default_rng(3).normal(size=(25, 6)))
    np.save("cube.npy", np.zeros((2, 2, 2)))
    rows = [",".join(map(repr, row)) for row in np.load("theirs.npy").T[1:].tolist()]  # a query is missing
    Path("header.csv").write_text("\n".join([",".join(map(str, problem.candidates.tolist())), *rows]))
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


def test_a_folder_of_files_is_imported_each_with_its_own_claim(problem, capsys):
    """One says its claim by `claim.json`, one by its name; each becomes a file that `compare` reads."""
    step = compute(problem, Scoring.parse({**STEP, "process": {"kind": "one_step", "eta": 0.1}}))[0].oriented
    for folder in ("theirs/loo", "theirs/more"):
        Path(folder).mkdir(parents=True)
    np.save("theirs/captum.npy", step)
    np.save("theirs/sizes.npy", np.abs(step))
    brought(problem, name="theirs/loo/mine.npy")
    Path("theirs/loo/claim.json").write_text(json.dumps(REMOVE))
    given = ["--data", "problem.npz", "--l2", "0.01"]
    several = ["bring", "--scores", "theirs/captum.npy", "--scores", "theirs/loo", *given]
    assert main([*several, "--out", "ours.npz"]) == 2 and "give a folder" in capsys.readouterr().err
    assert main([*several, "--scores", "theirs/sizes.npy", "--out", "ours"]) == 2
    assert "Nothing in `theirs/sizes.npy` states which" in capsys.readouterr().err and not Path("ours").exists()
    assert main([*several, "--out", "ours"]) == 0
    told = capsys.readouterr().out
    assert "The name says captum" in told and "Claimed specification, from `claim.json`" in told
    assert sorted(file.stem for file in Path("ours").iterdir()) == ["captum", "captum", "mine", "mine"]
    assert json.loads(Path("ours/mine.json").read_text())["brought"]["sign"] == "minus"
    assert run("compare", "--specs", "specs.json", "--scores", "ours/captum.npz", "--scores", "ours/mine.npz", "--out",
               "agreement.csv") == 0
    table = pd.read_csv("agreement.csv").set_index(["a", "b", "metric"])["mean"]
    assert table["step", "captum", "kendall_tau"] > 0.9 and table["loo", "mine", "kendall_tau"] > 0.5
    assert main(shlex.split(json.loads(Path("ours/captum.json").read_text())["command"])[3:]) == 0
    assert main(["bring", "--scores", "theirs/sizes.npy", *given, "--spec", "step.json", "--out", "sizes.npz"]) == 0
    assert "sign unsigned" in capsys.readouterr().out
