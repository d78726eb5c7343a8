"""The controlled study end to end at a tiny size: its rows against the paper's keys and against plain computation."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from engine.basics.errors import Cancelled
from engine.experiments import EXPERIMENTS, controlled
from engine.jobs import KINDS, Watch, run_job
from engine.problems import ProblemSource
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

DIGITS = {"dataset": "digits", "n_train": 60, "n_test": 20, "n_queries": 6, "n_candidates": 8, "pool": 2}
TINY = {"study": controlled.STUDY.name, "preset": "tiny", "seeds": [0, 1],
        "settings": {"numerics": 1, "slice": 5, "sources": [DIGITS]}}
ASSETS = Path(__file__).parents[3] / "assets" / "paper"
PAPER = ASSETS / "table_a6_fashionmnist_specification_mismatch.csv"
KEYS = ["axis", "comparison", "parameter", "metric"]
COMPARISONS = [
    ("B", "query loss vs. soft margin", ""), ("B", "query loss vs. hard margin", ""),
    ("B", "query loss vs. query logit", ""),
    *(("P", "upweighting vs. exact LOO", f"alpha={alpha}") for alpha in ("0.00001", "0.0001", "0.001", "0.01", "0.1")),
    ("T", "one-step vs. five-step", ""), ("T", "one-step vs. inverse-Hessian", ""),
]
METRICS = ("Kendall tau", "Top-5% overlap", "Sign agreement")
LITERAL = {(*comparison, metric) for comparison in COMPARISONS for metric in METRICS}


@pytest.mark.parametrize("name", ["table-a6", "figure-4"])
def test_every_row_names_the_two_questions_it_compares(name):
    pairs = EXPERIMENTS[name].pairs
    assert set(pairs) == set(COMPARISONS)
    for (axis, comparison, parameter), (a, b) in pairs.items():
        assert a.exact and b.exact and axis in a.differing_axes(b)
        assert a.differing_axes(b) == ((axis,) if "inverse-Hessian" not in comparison else ("P", "T"))
        assert axis != "P" or a.intervention.alpha == float(parameter.removeprefix("alpha="))


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return run_job(controlled.STUDY.name, TINY, tmp_path_factory.mktemp("home"))


def keys_of(frame):
    return set(frame[KEYS].itertuples(index=False, name=None))


def test_the_rows_join_with_the_papers(result):
    table = result.table("table_a6")
    assert keys_of(table) == LITERAL and len(table) == len(LITERAL)
    assert {"dataset", "mean", "ci95", "n_seeds", "n_queries", "n_dropped"} <= set(table.columns)
    assert set(table["n_seeds"]) == {2} and set(table["dataset"]) == {"digits"} and set(table["n_queries"]) == {6}
    paper = pd.read_csv(PAPER, keep_default_na=False)
    assert keys_of(paper) == LITERAL
    assert len(table.merge(paper, on=KEYS)) == len(paper)


def test_soft_margin_and_query_loss_agree_fully(result):
    """The paper's first row: Proposition 1."""
    rows = result.table("table_a6").set_index("comparison").loc["query loss vs. soft margin"]
    np.testing.assert_allclose(rows["mean"], 1.0, atol=1e-12)
    np.testing.assert_allclose(rows["ci95"], 0.0, atol=1e-12)


def oriented(problem, *parts):
    scores = compute(problem, Scoring.of(*parts))[0]
    return scores.oriented


ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
REOPTIMIZE = {"kind": "reoptimize"}
LOSS = ("query_loss", ADD, STEP)
SIDES = {
    ("query loss vs. hard margin", ""): (LOSS, ("hard_margin", ADD, STEP)),
    ("upweighting vs. exact LOO", "alpha=0.001"): (
        ("query_loss", {"kind": "upweight", "alpha": 1e-3}, REOPTIMIZE),
        ("query_loss", {"kind": "remove"}, REOPTIMIZE)),
    ("one-step vs. five-step", ""): (LOSS, ("query_loss", ADD, {"kind": "unrolled", "eta": 0.1, "steps": 5})),
    ("one-step vs. inverse-Hessian", ""): (
        LOSS, ("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.01})),
    ("first-order vs. exact one-step", "eta=0.5"): (
        ("query_loss", ADD, {"kind": "one_step", "eta": 0.5}),
        ("query_loss", ADD, {"kind": "one_step", "eta": 0.5}, "first_order")),
    ("inverse-Hessian vs. Newton upweight", "alpha=0.1"): (
        ("query_loss", {"kind": "upweight", "alpha": 0.1}, REOPTIMIZE),
        ("query_loss", {"kind": "upweight", "alpha": 0.1}, REOPTIMIZE, "cholesky")),
    ("upweighting vs. exact LOO (mean over n)", "alpha=0.1"): (
        ("query_loss", {"kind": "upweight", "alpha": 0.1}, REOPTIMIZE),
        ("query_loss", {"kind": "remove", "normalization": "n"}, REOPTIMIZE)),
}


@pytest.mark.parametrize(("comparison", "parameter"), SIDES, ids=str)
def test_rows_against_plain_computation(result, comparison, parameter):
    """Draw, compute both sides, SciPy's τ per query, mean over queries, then over seeds."""
    means, signs = [], []
    for seed in TINY["seeds"]:
        problem = ProblemSource(**DIGITS, seed=seed).build().problem
        a, b = (oriented(problem, *parts) for parts in SIDES[comparison, parameter])
        means.append(np.mean([kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)]))
        signs.append((np.sign(a) == np.sign(b)).mean())
    rows = result.table("figure_4")
    chosen = rows[(rows.comparison == comparison) & (rows.parameter == parameter) & (rows.behavior.isin(
        ["query_loss", "hard_margin"] if "margin" in comparison else ["query_loss"]))].set_index("metric")
    assert chosen.loc["Kendall tau", "mean"] == pytest.approx(np.mean(means), abs=1e-9)
    assert chosen.loc["Sign agreement", "mean"] == pytest.approx(np.mean(signs), abs=1e-9)
    half = abs(means[0] - means[1]) / 2 * 12.706204736  # t(0.975, 1 degree of freedom) · s / √2
    assert chosen.loc["Kendall tau", "ci95"] == pytest.approx(half, abs=1e-6)


def test_figure_4_has_every_curve(result):
    rows = result.table("figure_4")
    tau = rows[rows.metric == "Kendall tau"]
    counts = tau.groupby("curve").size().to_dict()
    assert counts == {"": 10, "eta": 4 * 10, "alpha": 4 * 5, "normalization": 5}
    behaviors = {"query_loss", "query_logit", "soft_margin", "hard_margin"}
    assert set(tau[tau.curve == "eta"]["behavior"]) == set(tau[tau.curve == "alpha"]["behavior"]) == behaviors
    etas = {float(parameter.removeprefix("eta=")) for parameter in tau[tau.curve == "eta"]["parameter"]}
    assert etas == {0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0}
    assert len(rows) == 3 * len(tau) and keys_of(rows[rows.curve == ""]) == LITERAL


def test_the_query_logit_is_linear_in_a_step(result):
    rows = result.table("figure_4")
    chosen = rows[(rows.curve == "eta") & (rows.behavior == "query_logit") & (rows.metric == "Kendall tau")]
    np.testing.assert_allclose(chosen["mean"], 1.0, atol=1e-12)


def test_the_manifest_says_how_it_was_made(result):
    manifest = result.manifest
    assert manifest["seeds"] == [0, 1] and manifest["device"] and manifest["spec"]["damping"] == 0.01
    assert [run["source"]["seed"] for run in manifest["runs"]] == [0, 1]
    for run in manifest["runs"]:
        assert run["convergence"]["flagged"] == 0 and 0 < run["convergence"]["largest_gradient_norm"] <= 1e-10
        assert run["factual"]["gradient_norm"] < 1e-12 and 0.5 < run["factual"]["test_accuracy"] <= 1
        assert run["convergence"]["reoptimisation_flops"] > 0
    assert manifest["runs"][0]["data"] != manifest["runs"][1]["data"]
    assert manifest["runs"][0]["data"] == ProblemSource(**DIGITS, seed=0).build().problem.fingerprint


@pytest.fixture(scope="module")
def as_authors(tmp_path_factory):
    settings = {**TINY["settings"], "conventions": "authors"}
    return run_job(controlled.STUDY.name, {**TINY, "seeds": [0], "settings": settings}, tmp_path_factory.mktemp("home"))


def test_the_authors_model_has_an_intercept(as_authors, result):
    [run] = as_authors.manifest["runs"]
    assert run["source"]["intercept"] and run["source"]["seed"] == 0 and run["factual"]["gradient_norm"] < 1e-12
    assert run["data"] == ProblemSource(**DIGITS, seed=0, intercept=True).build().problem.fingerprint
    assert keys_of(result.table("table_a6")) < keys_of(as_authors.table("table_a6"))


@pytest.mark.parametrize(("comparison", "parameter"), [
    ("one-step vs. five-step", ""), ("one-step vs. inverse-Hessian", ""),
    ("first-order vs. exact one-step", "eta=0.5")])
def test_the_authors_rows_are_also_over_all_pairs(as_authors, comparison, parameter):
    problem = ProblemSource(**DIGITS, seed=0, intercept=True).build().problem
    a, b = (oriented(problem, *parts).ravel() for parts in SIDES[comparison, parameter])
    rows = as_authors.table("figure_4")
    rows = rows[(rows.comparison == comparison) & (rows.parameter == parameter) & (rows.behavior == "query_loss")]
    means = rows.set_index("metric")["mean"]
    assert means["Kendall tau (pooled)"] == pytest.approx(kendalltau(a, b).statistic, abs=1e-9)
    assert means["Sign agreement (pooled)"] == pytest.approx((np.sign(a) == np.sign(b)).mean(), abs=1e-9)
    assert means["Sign agreement"] == pytest.approx((np.sign(a) == np.sign(b)).mean(), abs=1e-9) and len(means) == 6


def test_the_authors_curve_over_alpha_is_there_by_both_inverses(as_authors):
    """The plain inverse has no more than rounding against it, which decides the ranking."""
    rows = as_authors.table("figure_4")
    tau = rows[(rows.parameter == "alpha=0.00001") & (rows.metric == "Kendall tau") & (rows.behavior == "query_loss")]
    tau = tau.set_index("comparison")["mean"]
    assert tau["inverse-Hessian vs. Newton upweight"] > 0.99
    assert not tau["plain inverse vs. Newton upweight"] > tau["inverse-Hessian vs. Newton upweight"]
    assert "(pooled)" not in " ".join(rows[rows.curve == "alpha"].metric)


class Stop(Watch):
    done = 0

    def report(self, progress):
        self.done = progress.done

    def between_chunks(self):
        if self.done == 4:
            raise Cancelled("Stopped.")


def test_an_interrupted_study_goes_on_and_slices_do_not_matter(result, tmp_path, monkeypatch):
    computed = []

    def counting(payload, key, context):
        computed.append(key)
        return controlled.run_chunk(payload, key, context)

    monkeypatch.setitem(KINDS, controlled.STUDY.name, dataclasses.replace(controlled.STUDY, run_chunk=counting))
    payload = {**TINY, "settings": {**TINY["settings"], "slice": 3}}
    with pytest.raises(Cancelled):
        run_job(controlled.STUDY.name, payload, tmp_path, watch=Stop())
    assert computed == ["0/0/steps", "0/0/optima/0", "0/0/optima/1", "0/0/optima/2"]
    again = run_job(controlled.STUDY.name, payload, tmp_path)
    assert computed == controlled.plan(payload) and len(computed) == 8
    for name in ("table_a6", "figure_4"):
        columns = ["mean", "ci95", "n_dropped"]
        np.testing.assert_allclose(again.table(name)[columns], result.table(name)[columns], atol=1e-9)


def test_the_plan_covers_every_candidate_once():
    for preset in controlled.PRESETS.values():
        payload = {"settings": preset.settings, "seeds": list(range(preset.seeds))}
        keys = controlled.plan(payload)
        assert len(set(keys)) == len(keys)
        for place, source in enumerate(preset.settings["sources"]):
            slices = [key for key in keys if key.startswith(f"{place}/0/optima/")]
            assert len(slices) == math.ceil(source["n_candidates"] / preset.settings["slice"])
        assert all(controlled.weight(payload, key) > 0 for key in keys)


def test_a_flagged_candidate_is_left_out_of_the_table(tmp_path, monkeypatch):
    """Candidate 0 of the draw is declared unconverged in one scoring: all rows over optima then use the others."""
    real = controlled.compute

    def flag(problem, scorings, options=None):
        found = real(problem, scorings, options) if options else real(problem, scorings)
        first = ProblemSource(**DIGITS, seed=0).build().sample.candidates[0]
        for scores in found:
            if scores.scoring.intervention.kind == "upweight" and scores.scoring.intervention.alpha == 0.1:
                scores.converged[scores.candidates == first] = False
        return found

    monkeypatch.setattr(controlled, "compute", flag)
    payload = {**TINY, "seeds": [0]}
    table = run_job(controlled.STUDY.name, payload, tmp_path).table("figure_4").set_index(["comparison", "parameter"])
    problem = ProblemSource(**DIGITS, seed=0).build().problem
    for key in (("upweighting vs. exact LOO", "alpha=0.001"), ("one-step vs. inverse-Hessian", "")):
        a, b = (oriented(problem, *parts)[:, 1:] for parts in SIDES[key])
        expected = np.mean([kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)])
        rows = table.loc[[key]]
        assert rows[rows.metric == "Kendall tau"]["mean"].item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["table-a6", "figure-4"])
def test_the_experiments_as_the_command_line_finds_them(name, result):
    experiment = EXPERIMENTS[name]
    assert set(experiment.presets) == {"small", "paper"} and list(experiment.keys) == KEYS
    assert experiment.payload("small")["seeds"] == [0, 1, 2] and experiment.payload("small", 1)["seeds"] == [0]
    paper = experiment.payload("paper")
    assert paper["settings"]["sources"] == [{"dataset": "fashion_mnist", "n_train": 20_000, "n_test": 2_000,
                                             "n_queries": 1_000, "n_candidates": 1_000}] and len(paper["seeds"]) == 3
    assert (ASSETS / experiment.paper_table).is_file() and KINDS[experiment.study]
    view = experiment.view({table: result.table(table) for table in ("table_a6", "figure_4")})
    assert keys_of(view) >= LITERAL
    assert experiment.payload("small") == EXPERIMENTS["table-a6"].payload("small"), "one run serves both"
