"""The command line: what it writes is what a naive loop and SciPy say, and it fails with a sentence."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import kendalltau, t

import engine.scoring.compute
from engine.cli import main
from engine.experiments import EXPERIMENTS, Preset
from engine.jobs import KINDS

ROOT = Path(__file__).parents[3]
N, D, C, M, K = 40, 4, 3, 5, 30
ETA, L2 = 0.3, 1e-2

STEP = {"behavior": "query_loss", "intervention": {"kind": "add_occurrence"},
        "process": {"kind": "one_step", "eta": ETA}}
REMOVE = {"behavior": "query_logit", "intervention": {"kind": "remove"}, "process": {"kind": "reoptimize"}}
FIRST = {**STEP, "estimator": "first_order"}


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(C), rng.integers(0, C, N - C)])
    return {"x_train": rng.normal(size=(N, D)) + y[:, None], "y_train": y, "x_query": rng.normal(size=(M, D)) + 1,
            "y_query": rng.integers(0, C, M), "candidates": rng.permutation(N)[:K]}


@pytest.fixture
def folder(tmp_path, arrays, monkeypatch):
    """A working folder with problem.npz, spec.json (one step) and specs.json (three scorings)."""
    np.savez(tmp_path / "problem.npz", **arrays)
    (tmp_path / "spec.json").write_text(json.dumps(STEP))
    named = [{"name": name, "spec": spec} for name, spec in (("step", STEP), ("loo", REMOVE), ("first, order", FIRST))]
    (tmp_path / "specs.json").write_text(json.dumps(named))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def influence(*options, spec="spec.json", out="scores.npz"):
    return main(["influence", "--data", "problem.npz", "--spec", spec, "--out", out, "--l2", str(L2), *options])


def compare(*options):
    return main(["compare", "--data", "problem.npz", "--specs", "specs.json", "--out", "agreement.csv",
                 "--l2", str(L2), *options])


def factual_weights(x, y):
    """θ_D (D, C) by BFGS on the objective as the paper states it."""
    onehot = np.eye(C)[y]

    def objective(flat):
        w = flat.reshape(x.shape[1], C)
        value = -(onehot * log_softmax(x @ w, axis=1)).sum() / len(x) + L2 / 2 * (w**2).sum()
        return value, (x.T @ (softmax(x @ w, axis=1) - onehot) / len(x) + L2 * w).ravel()

    return minimize(objective, np.zeros(x.shape[1] * C), jac=True, options={"gtol": 1e-10}).x.reshape(-1, C)


def test_one_step_scores_are_those_of_a_naive_loop(folder, arrays, capsys):
    assert influence() == 0
    assert capsys.readouterr().err == ""
    w = factual_weights(arrays["x_train"], arrays["y_train"])
    expected = np.empty((M, K))
    for column, k in enumerate(arrays["candidates"]):
        x, y = arrays["x_train"][k], arrays["y_train"][k]
        stepped = w - ETA * np.outer(x, softmax(x @ w) - np.eye(C)[y])
        for q in range(M):
            query, label = arrays["x_query"][q], arrays["y_query"][q]
            expected[q, column] = log_softmax(query @ stepped)[label] - log_softmax(query @ w)[label]
    with np.load("scores.npz", allow_pickle=False) as written:
        assert sorted(written.files) == ["candidates", "converged", "residual", "scores"]
        np.testing.assert_allclose(written["scores"], expected, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(written["candidates"], arrays["candidates"])
        assert written["scores"].dtype == np.float64 and written["scores"].shape == (M, K)
        assert written["converged"].dtype == bool and written["converged"].all()


def test_the_manifest_says_how_to_recompute_the_scores(folder):
    assert influence("--intercept", "--memory", "2") == 0
    manifest, scores = json.loads(Path("scores.json").read_text()), Path("scores.npz").read_bytes()
    assert manifest["files"]["scores.npz"] == {"size": len(scores), "sha256": hashlib.sha256(scores).hexdigest()}
    assert manifest["sizes"] == {"train": N, "queries": M, "candidates": K, "features": D + 1, "classes": C}
    assert {"spec", "data", "device", "versions", "wall_seconds", "convergence", "digest"} <= set(manifest)
    program, command = manifest["command"].split(" influence ")
    assert program == "python -m engine"
    before = Path("scores.npz").read_bytes()
    assert main(["influence", *command.split()]) == 0
    assert Path("scores.npz").read_bytes() == before


def test_the_command_in_the_manifest_names_no_folder_of_this_machine(folder):
    assert influence(out=str(folder / "scores.npz")) == 0
    assert str(folder) not in Path("scores.json").read_text()


def test_removal_scores_are_raw_and_not_oriented(folder, arrays):
    assert influence(spec="specs.json") == 2
    Path("loo.json").write_text(json.dumps({**REMOVE, "behavior": "query_loss"}))
    assert influence(spec="loo.json") == 0
    scores = np.load("scores.npz")["scores"]
    k, q = arrays["candidates"][0], 0
    kept = np.arange(N) != k
    loss = [log_softmax(arrays["x_query"][q] @ factual_weights(x, y))[arrays["y_query"][q]] for x, y in (
        (arrays["x_train"][kept], arrays["y_train"][kept]), (arrays["x_train"], arrays["y_train"]))]
    assert scores[q, 0] == pytest.approx(loss[0] - loss[1], abs=1e-7)


def test_agreement_is_scipys_on_the_scores_of_influence(folder, capsys):
    assert compare() == 0
    assert capsys.readouterr() == ("", "")
    table = pd.read_csv("agreement.csv")
    assert list(table.columns) == ["a", "b", "metric", "mean", "ci95", "n_queries", "n_dropped", "verdict"]
    assert len(table) == 9 and set(table.metric) == {"kendall_tau", "top_overlap", "sign_agreement"}
    assert not list(folder.glob("agreement.json"))
    scores = {}
    for name, spec, orientation in (("step", STEP, 1), ("loo", REMOVE, -1), ("first, order", FIRST, 1)):
        Path("one.json").write_text(json.dumps(spec))
        assert influence(spec="one.json") == 0
        scores[name] = orientation * np.load("scores.npz")["scores"]
    for row in table.itertuples():
        per_query = [expected_agreement(row.metric, a, b) for a, b in zip(scores[row.a], scores[row.b], strict=True)]
        assert row.mean == pytest.approx(np.mean(per_query), abs=1e-12)
        assert row.ci95 == pytest.approx(t.ppf(0.975, M - 1) * np.std(per_query, ddof=1) / M**0.5, abs=1e-12)
        assert (row.n_queries, row.n_dropped) == (M, 0)
    verdicts = dict(zip(zip(table.a, table.b, strict=True), table.verdict, strict=True))
    assert verdicts == {("step", "loo"): "specification mismatch on {B,P,T}",
                        ("step", "first, order"): "approximation error",
                        ("loo", "first, order"): "both on {B,P,T}"}


def expected_agreement(metric, a, b):
    if metric == "kendall_tau":
        return kendalltau(a, b).statistic
    if metric == "sign_agreement":
        return (np.sign(a) == np.sign(b)).mean()
    top = max(1, int(np.floor(0.05 * K + 0.5)))
    return len({*np.argsort(-a)[:top]} & {*np.argsort(-b)[:top]}) / top


def test_candidates_that_did_not_converge_are_flagged_and_reported(folder, capsys, monkeypatch):
    compute = engine.scoring.compute.compute

    def unconverged(*arguments):
        flags = {"converged": np.arange(K) > 1, "residual": np.full(K, 2e-3)}
        return [replace(scores, **flags) for scores in compute(*arguments)]

    monkeypatch.setattr(engine.scoring.compute, "compute", unconverged)
    assert influence() == 0
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1 and f"2 of {K} candidates did not converge" in warning and "2.0e-03" in warning
    assert (~np.load("scores.npz")["converged"]).sum() == 2
    assert compare() == 0
    assert "2 candidates are left out" in capsys.readouterr().err


def test_ctrl_c_leaves_no_file_and_says_so(folder, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine.scoring.compute, "compute", interrupted)
    assert influence() == 130
    assert one_line(capsys).startswith("Interrupted")
    assert not list(folder.glob("*scores*"))


def test_an_unexpected_fault_is_one_sentence_unless_debugging(folder, capsys, monkeypatch):
    def broken(*_):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(engine.scoring.compute, "compute", broken)
    assert influence() == 1
    assert "RuntimeError: first line" in (text := one_line(capsys)) and "WHICHFLUENCE_DEBUG=1" in text
    monkeypatch.setenv("WHICHFLUENCE_DEBUG", "1")
    with pytest.raises(RuntimeError):
        influence()


@pytest.mark.parametrize(("arguments", "part"), [
    ([], "Missing command"),
    (["nonsense"], "nonsense"),
    (["influence"], "--data"),
    (["influence", "--nonsense"], "--nonsense"),
    (["influence", "--data", "p.npz", "--spec", "s.json", "--out", "o.npz", "--l2", "much"], "--l2"),
    (["compare", "--data", "p.npz"], "--specs"),
    (["reproduce"], "'name'"),
    (["reproduce", "table-a6", "--seeds", "0"], "--seeds"),
    (["reproduce", "table-a6", "--preset", "huge"], "preset"),
    (["reproduce", "table-a66"], "`table-a6`"),
    (["reproduce", "table-a6", "--device", "abacus"], "abacus"),
    (["reproduce", "table-a6", "--memory", "-1"], "--memory"),
    (["reproduce", "table-a6", "--out", "/dev/null/results"], "--out"),
    (["list", "more"], "more"),
])
def test_wrong_usage_is_one_sentence(arguments, part, capsys):
    assert main(arguments) == 2
    assert part in one_line(capsys)


def test_help_and_version_are_no_errors(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("influence", "compare", "reproduce", "list", "doctor"))
    assert main(["compare", "--help"]) == 0 and "--specs" in capsys.readouterr().out
    assert main(["--version"]) == 0 and capsys.readouterr().out.startswith("whichfluence ")


def test_list_names_what_is_registered(capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out.split()
    assert {"query_loss", "remove", "one_step", "first_order", "lissa", "digits", "table-a6", "figure-4"} <= set(listed)
    assert {"behaviors", "interventions", "processes", "estimators", "datasets", "experiments"} <= set(listed)


def test_doctor_tells_what_is_found(capsys, monkeypatch, tmp_path):
    (tmp_path / "a-model").mkdir()
    monkeypatch.setenv("WHICHFLUENCE_MODELS", str(tmp_path))
    monkeypatch.delenv("WHICHFLUENCE_DATA", raising=False)
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for word in ("torch", "digits", "fashion_mnist", "a-model", os.environ["WHICHFLUENCE_HOME"]):
        assert word in shown


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """The experiment `tiny`: Table A-6 on a handful of digits; yields the chunks computed so far."""
    computed = []
    source = {"dataset": "digits", "n_train": 80, "n_test": 20, "n_queries": 6, "n_candidates": 8}
    preset = Preset("small", "eighty digits", 2, {"numerics": 1, "slice": 4, "sources": [source]})
    experiment = replace(EXPERIMENTS["table-a6"], name="tiny", presets={"small": preset})
    study = KINDS[experiment.study]

    def counted(payload, key, context):
        computed.append(key)
        return study.run_chunk(payload, key, context)

    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path / "home"))
    EXPERIMENTS.add("tiny", experiment)
    KINDS.add(study.name, replace(study, run_chunk=counted), replace=True)
    yield computed
    EXPERIMENTS.remove("tiny")
    KINDS.add(study.name, study, replace=True)


def test_reproduce_publishes_and_compares_and_computes_once(tiny, tmp_path, capsys):
    out = tmp_path / "published"
    assert main(["reproduce", "tiny", "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "query loss vs. hard margin" in shown.out and "0.747" in shown.out and shown.err == ""
    table = pd.read_csv(out / "tiny" / "small" / "results.csv")
    assert {"axis", "comparison", "parameter", "metric", "mean", "ci95", "n_seeds"} <= set(table.columns)
    assert len(table) == 30 and set(table.n_seeds) == {2}
    assert (table[table.comparison == "query loss vs. soft margin"]["mean"] == 1.0).all()  # Proposition 1
    manifest = json.loads((out / "tiny" / "small" / "manifest.json").read_text())
    assert manifest["command"] == "python -m engine reproduce tiny --preset small" and manifest["seeds"] == [0, 1]
    assert len(tiny) == 2 * 3
    assert main(["reproduce", "tiny", "--out", str(out)]) == 0
    assert len(tiny) == 2 * 3


def test_reproduce_goes_on_after_ctrl_c(tiny, tmp_path, capsys, monkeypatch):
    study = KINDS[EXPERIMENTS["tiny"].study]

    def stops(payload, key, context):
        if key == "0/0/optima/1":
            raise KeyboardInterrupt
        return study.run_chunk(payload, key, context)

    KINDS.add(study.name, replace(study, run_chunk=stops), replace=True)
    out = tmp_path / "published"
    arguments = ["reproduce", "tiny", "--seeds", "1", "--out", str(out)]
    assert main(arguments) == 130
    assert one_line(capsys).startswith("Interrupted") and not out.exists()
    KINDS.add(study.name, study, replace=True)
    assert main(arguments) == 0
    assert tiny == ["0/0/steps", "0/0/optima/0", "0/0/optima/1"]
    manifest = json.loads((out / "tiny" / "small" / "manifest.json").read_text())
    assert manifest["command"].endswith("--seeds 1")


def run(*arguments, cwd):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", "engine", *arguments], cwd=cwd, env=environment, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=300)


def test_as_a_process_it_writes_silently_or_refuses(folder):
    done = run("influence", "--data", "problem.npz", "--spec", "spec.json", "--out", "scores.npz", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in folder.iterdir()} == {"problem.npz", "scores.json", "scores.npz", "spec.json",
                                                         "specs.json"}
    refused = run("influence", "--data", "absent.npz", "--spec", "spec.json", "--out", "other.npz", cwd=folder)
    assert refused.returncode == 2 and refused.stdout == "" and refused.stderr.count("\n") == 1
    assert not list(folder.glob("*other*"))


def test_help_does_not_wait_for_torch(tmp_path):
    code = "import sys; from engine.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path,
                          capture_output=True, timeout=60)
    assert done.returncode == 0


def one_line(capsys) -> str:
    """What was refused: nothing on stdout, one sentence on stderr."""
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and shown.err.endswith((".\n", "?\n")), shown
    return shown.err
