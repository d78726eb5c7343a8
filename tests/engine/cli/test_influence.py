"""`influence` and `compare`: what they write is what a naive loop and SciPy say."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import kendalltau, t

import engine.scoring.compute
from engine.analysis import comparison
from engine.cli import main
from engine.scoring.scoring import Scoring
from tests.engine.cli.commands import ETA, FIRST, L2, REMOVE, SPECS, STEP, C, D, K, M, N, compare, influence, run


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
        assert sorted(written.files) == ["candidates", "converged", "error", "residual", "resolved", "scores"]
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
    assert "of the log-likelihood (minus the query loss) in nats" in manifest["quantity"]
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

    monkeypatch.setattr("engine.scoring.compute.compute", unconverged)
    assert influence() == 0
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1 and f"2 of {K} candidates did not converge" in warning
    assert "largest residual 0.002" in warning
    assert (~np.load("scores.npz")["converged"]).sum() == 2
    assert compare() == 0
    assert "2 candidates are left out" in capsys.readouterr().err


def test_a_comparison_without_more_is_as_before(problem):
    assert run("compare", "--specs", "specs.json", "--out", "agreement.csv") == 0
    scores = engine.scoring.compute.compute(problem, [Scoring.parse(spec) for spec in SPECS.values()])
    expected = comparison.compare([scores], list(SPECS)).table()
    assert pd.read_csv("agreement.csv")["mean"].tolist() == pytest.approx(expected["mean"].tolist())
    assert sorted(set(pd.read_csv("agreement.csv").metric)) == ["kendall_tau", "sign_agreement", "top_overlap"]
