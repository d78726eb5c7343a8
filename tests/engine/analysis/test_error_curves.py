import hashlib

import numpy as np
import pytest
import torch
from torch import nn

from engine.analysis import error_curves
from engine.analysis.error_curves import ALPHAS, ETAS
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.values import canonical_json
from engine.curvature import solvers_for
from engine.metrics.agreement import kendall_tau, sign_agreement, top_overlap
from engine.problems import ModuleProblem, SoftmaxProblem
from engine.question.behaviors import BEHAVIORS, register_behavior
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.scoring.compute import compute
from tests.engine.problems_for_tests import problem

HESSIANS = solvers_for(SoftmaxProblem)
SMALL = {"n": 60, "d": 4, "classes": 3, "queries": 6}


@pytest.fixture(scope="module")
def trained():
    return problem(**SMALL)


def test_agreement_is_that_of_the_metrics(trained):
    exact, approximate = compute(trained, list(error_curves.step_pair("hard_margin", 0.5)))
    found = error_curves.agreement(exact, approximate)
    np.testing.assert_allclose(found["kendall_tau"], kendall_tau(exact.values, approximate.values))
    np.testing.assert_allclose(found["top_overlap"], top_overlap(exact.values, approximate.values))
    np.testing.assert_allclose(found["sign_agreement"], sign_agreement(exact.values, approximate.values))


def test_first_order_worsens_with_the_step_except_for_the_linear_logit(trained):
    near, far = (error_curves.step_agreement(trained, eta) for eta in (1e-4, 2.0))
    assert set(near) == {behavior.name for behavior in CLASS_BEHAVIORS if behavior.differentiable}
    for eta in (near, far):
        np.testing.assert_allclose(eta["query_logit"]["kendall_tau"], 1.0, atol=1e-9)
    for behavior in ("query_loss", "hard_margin", "probability"):
        assert near[behavior]["kendall_tau"].mean() > 0.99
        assert far[behavior]["kendall_tau"].mean() < near[behavior]["kendall_tau"].mean()


def test_query_loss_and_soft_margin_agree_alike(trained):
    found = error_curves.step_agreement(trained, 0.7, ["query_loss", "soft_margin"])
    np.testing.assert_allclose(found["query_loss"]["kendall_tau"], found["soft_margin"]["kendall_tau"])


def test_both_ends_are_in_the_precision_of_the_exact_one():
    """A tangent is taken in float64 beside an exact step, and by itself in the network's own precision."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    x = torch.randn(60, 4)
    single = ModuleProblem(module, x[:50], module(x[:50]).argmax(1), x[50:], torch.arange(10) % 3)
    pair = list(error_curves.step_pair("query_loss", 1e-7))
    found = compute(single, pair, Options().beside_exact)
    assert {scores.provenance["resolution"]["precision"] for scores in found} == {"float64"}
    alone = compute(single, pair[1])[0]
    assert alone.provenance["resolution"]["precision"] == "float32"
    assert 0 < np.abs(found[1].values / alone.values - 1).max() < 1e-2
    own, double = (error_curves.step_agreement(problem, 1e-7, ["query_loss"]) for problem in (single, single.double()))
    for metric, values in double["query_loss"].items():
        np.testing.assert_array_equal(own["query_loss"][metric], values)


@pytest.mark.parametrize("solver", list(HESSIANS))
def test_the_inverse_hessian_response_is_linear_in_alpha(trained, solver):
    few = trained.with_candidates(trained.candidates[:5])
    unit, direct = compute(few, [error_curves.solver_scoring("query_loss", solver),
                                 error_curves.solver_scoring("query_loss", solver, 0.03)])
    scaled = error_curves.at_alpha(unit, 0.03)
    np.testing.assert_allclose(scaled.values, direct.values, rtol=1e-12)
    assert scaled.scoring == direct.scoring


def test_only_a_linear_response_is_scaled(trained):
    few = trained.with_candidates(trained.candidates[:2])
    with pytest.raises(InvalidInput, match="linear"):
        error_curves.at_alpha(compute(few, error_curves.upweighted("query_loss", 1e-3))[0], 0.1)


def test_inverse_hessian_is_good_for_a_small_alpha_and_worse_for_a_large_one(trained):
    unit = compute(trained, error_curves.solver_scoring("query_loss", "cholesky"))[0]
    taus = []
    for alpha in (1e-6, 0.3):
        exact = compute(trained, error_curves.upweighted("query_loss", alpha))[0]
        taus.append(error_curves.agreement(exact, error_curves.at_alpha(unit, alpha))["kendall_tau"].mean())
    assert taus[0] > 0.99 > taus[1]


def test_candidates_that_did_not_converge_are_left_out(trained):
    from dataclasses import replace

    exact, approximate = compute(trained, list(error_curves.step_pair("query_loss", 0.5)))
    flags = np.ones(trained.n, dtype=bool)
    flags[10:] = False
    found = error_curves.agreement(replace(exact, converged=flags), approximate)
    np.testing.assert_allclose(found["kendall_tau"], kendall_tau(exact.values[:, :10], approximate.values[:, :10]))
    with pytest.raises(InvalidInput, match="usable score"):
        error_curves.agreement(replace(exact, converged=np.zeros(trained.n, dtype=bool)), approximate)


def test_alpha_scorings_cover_every_solver_and_behavior():
    scorings = error_curves.alpha_scorings((1e-3, 1e-1))
    behaviors = error_curves.differentiable()
    assert len(set(scorings)) == len(scorings) == (2 + len(HESSIANS)) * len(behaviors)
    assert {scoring.estimator for scoring in scorings} == {"exact", *HESSIANS}


def test_optima_are_asked_for_halfway_between_decades_too_and_others_are_not():
    assert error_curves.alphas("module") == error_curves.alphas("causal") == ALPHAS
    gaps = np.diff(np.log10(error_curves.alphas()))
    assert set(ALPHAS) < set(error_curves.alphas()) and gaps == pytest.approx(0.5, abs=0.01)


STANDARD = {("softmax", "eta"): "3d55d7f6410bfe6d", ("softmax", "alpha"): "8dc982a7b44e7b85",
            ("module", "eta"): "3d55d7f6410bfe6d", ("module", "alpha"): "9c892da1c0006303",
            ("causal", "eta"): "f46b972ab8b6843b", ("causal", "alpha"): "ce3895ee43c6538a"}
"""Digests of the scorings of the runs that stand in stores already."""


@pytest.mark.parametrize("kind, panel", STANDARD)
def test_the_runs_of_registered_behaviors_are_those_of_before(kind, panel):
    scorings = error_curves.eta_scorings(kind) if panel == "eta" else error_curves.alpha_scorings(kind=kind)
    told = canonical_json([scoring.canonical() for scoring in scorings])
    assert hashlib.sha256(told.encode()).hexdigest()[:16] == STANDARD[kind, panel]


@pytest.mark.parametrize("name", ["span:The answer is", "span@1:The answer is", "contrast", "contrast:No."])
def test_a_behavior_of_ones_own_words_has_a_series_of_its_own(name):
    assert error_curves.series(name, "causal") == (name,)
    for standard in (None, "answer_logit"):
        assert error_curves.series(standard, "causal") == error_curves.differentiable("causal")
    stepped = error_curves.eta_scorings("causal", [name])
    upweighted = error_curves.alpha_scorings(kind="causal", behaviors=[name])
    assert len(stepped) == 2 * len(ETAS) and len(upweighted) == len(ALPHAS) + len(error_curves.solvers("causal"))
    assert {scoring.behavior for scoring in (*stepped, *upweighted)} == {name}


def test_summary_means_and_interval_by_hand():
    seeds = [{"kendall_tau": np.array(values), "top_overlap": np.ones(2), "sign_agreement": np.ones(2)}
             for values in ([0.5, 0.7], [0.8, np.nan])]
    row = error_curves.summary(seeds)[0]
    assert row["metric"] == "kendall_tau" and row["n_dropped"] == 1 and row["n_seeds"] == 2
    assert row["mean"] == pytest.approx(0.7)
    assert row["ci95"] == pytest.approx(12.7062 * 0.1, rel=1e-4)  # t(0.975, 1)·s/√2 with s = 0.1·√2
    assert row["per_seed"] == pytest.approx((0.6, 0.8))
    assert np.isnan(error_curves.summary(seeds[:1])[0]["ci95"])


def test_a_users_own_behavior_gets_a_curve(trained):
    register_behavior("own_square", lambda logits, labels: logits.square().sum(-1))
    try:
        assert "own_square" in error_curves.step_agreement(trained, 0.1)
    finally:
        BEHAVIORS.remove("own_square")
