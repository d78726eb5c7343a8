"""What is said of convergence: an exact answer met its tolerance, an approximate one shows what it leaves unsolved."""

import warnings

import numpy as np
import pytest
import torch

from engine.analysis.comparison import compare
from engine.curvature.solution import RELATIVE
from engine.exact.replay import ADJOINT, STEPS, TANGENT
from engine.scoring.compute import compute
from engine.scoring.convergence import Convergence
from engine.scoring.scoring import Scoring
from tests.engine.curvature.networks import converged, dense_hessian, problem

INFINITESIMAL = {"kind": "infinitesimal"}
LINEAR = {RELATIVE: 1.0}


def response(estimator="exact", damping=1e-3, behavior="query_loss"):
    return Scoring.of(behavior, INFINITESIMAL, {"kind": "local_response", "damping": damping}, estimator)


def scored(problem, *scorings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return compute(problem, list(scorings))


def of(exact, residual, facts):
    residual = np.array(residual)
    return Convergence.measured(exact, np.ones(len(residual), bool), residual, facts)


@pytest.mark.parametrize(("facts", "said"), [
    ({TANGENT: 3, STEPS: 1_200},
     "1,200 steps of training differentiated forwards (tangent) in 3 columns, one per candidate"),
    ({ADJOINT: 20, STEPS: 9}, "9 steps of training differentiated backwards (adjoint) in 20 columns, one per query")])
def test_the_route_through_a_training_is_said_and_kept(facts, said):
    found = of(True, [0.0] * 3, facts)
    assert found.summary == said and Convergence.read(True, found.written).summary == said


def test_candidates_that_went_forwards_through_a_training_are_counted_over_slices():
    slices = [of(True, [0.0] * count, {TANGENT: count, STEPS: 9}) for count in (3, 2)]
    assert "in 5 columns" in Convergence.joined(slices).summary


def test_only_an_exact_answer_is_said_to_converge():
    exact, approximate = scored(converged(), response(), response("datainf"))
    assert "converged" in exact.convergence.summary and "tolerance 1e-6" in exact.convergence.summary
    assert exact.provenance["convergence"]["converged"] == exact.provenance["convergence"]["of"] == 30
    told = approximate.provenance["convergence"]
    assert "converged" not in told and "converged" not in approximate.convergence.summary
    assert "relative residual" in approximate.convergence.summary and told["kept"] == 30


@pytest.mark.parametrize(("facts", "said"), [
    ({"iterations": 400.0}, "the solve has not converged"),
    ({}, "it does not solve the linear system, whose matrix it approximates")])
def test_a_residual_is_told_as_what_it_is_and_judges_no_ranking(facts, said):
    found = of(False, [0.5, 2.4, np.nan], {**LINEAR, **facts})
    assert found.unsolved and found.largest == 2.4
    assert found.summary == f"relative residual at most 2.4e+00, measured for 2 of 3; {said}"
    assert found.remarks("LiSSA") == (
        f"LiSSA, relative residual up to 2.4 (measured for 2 of 3 candidates): {said}. This does not measure "
        "its ranking.",)


@pytest.mark.parametrize("largest", [0.02, 0.45, 0.99, 2.4, 7358.0])
def test_no_residual_is_worse_than_nothing(largest):
    """Below and above the residual of zero scores the sentence is the same: neither tells of the ranking."""
    found = of(False, [largest], {**LINEAR, "iterations": 3.0})
    [remark] = found.remarks("LiSSA")
    assert "worse" not in remark + found.summary and "not measure its ranking" in remark
    assert of(False, [0.005], LINEAR).remarks("LiSSA") == (), "where conjugate gradients would have stopped, too"


def test_a_residual_that_was_not_measured_is_not_zero():
    found = of(False, [np.nan, np.nan], LINEAR)
    assert found.summary == "relative residual not measured" and not found.unsolved and found.remarks("LiSSA") == ()


def test_a_manifest_of_an_earlier_version_is_read():
    told = {"kept": 10, "of": 10, "largest_residual": 2.4, "worse_than_nothing": 4, RELATIVE: 1.0}
    found = Convergence.read(False, told)
    assert found.largest == 2.4 and "worse" not in found.summary and "worse_than_nothing" not in found.written
    assert "worse_than_nothing" not in found.facts


@pytest.mark.parametrize(("facts", "measure"), [({}, "gradient norm"), (LINEAR, "relative residual"), (
    {**LINEAR, "residual_of_gauss_newton": 1.0}, "relative residual against the Gauss–Newton matrix")])
def test_a_gradient_norm_is_no_relative_residual(facts, measure):
    found = of(True, [3.0, 0.1], facts)
    assert found.measure == measure and found.unsolved == bool(facts)
    assert found.remarks("exact") == (), "an exact answer above its tolerance did not converge, and that is said"


def test_reaching_a_tolerance_is_a_fact_about_the_solver():
    found = scored(converged(), response("cg", damping=0.1))[0].convergence
    assert "30 of 30 reached the solver's tolerance" in found.summary and "converged" not in found.summary


def test_a_closed_form_has_nothing_to_converge():
    step = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
    exact, first = scored(converged(), step, Scoring.of(step.behavior, step.intervention, step.process, "first_order"))
    assert exact.convergence.measure == first.convergence.measure == ""
    assert "nothing to converge" in exact.convergence.summary and "no residual" in first.convergence.summary


@pytest.mark.parametrize("estimator", ["exact", "cg"])
def test_an_indefinite_hessian_is_no_minimum_and_the_answer_says_so(estimator):
    p = problem("mlp", loss="squared_probability_error", l2=0.0)
    smallest = torch.linalg.eigvalsh(dense_hessian(p))[0].item()
    assert smallest < -0.02
    for damping, indefinite in ((1e-3, True), (-smallest + 0.1, False)):
        found = scored(p, response(estimator, damping))[0]
        said = [remark for remark in found.convergence.remarks(estimator) if "not a minimum" in remark]
        assert len(said) == indefinite and found.convergence.indefinite == indefinite
        assert bool(found.provenance["convergence"]["negative_curvature"]) == indefinite


def test_rounding_is_no_negative_curvature():
    """A singular Hessian without damping to speak of: softmax shifts leave a direction flat."""
    p = problem("linear", l2=0.0)
    assert abs(torch.linalg.eigvalsh(dense_hessian(p))[0].item()) < 1e-12
    found = scored(p, response(damping=1e-15))[0]
    assert not found.convergence.indefinite


def test_the_verdict_says_it_too():
    p = problem("mlp", loss="squared_probability_error", l2=0.0)
    exact, bad = scored(p, response(), response("datainf"))
    reason = compare([[exact, bad]]).verdicts[0][1].reason
    assert "not a minimum" in reason and ("relative residual up to" in reason) == bad.convergence.unsolved
    assert "worse" not in reason


def test_parts_join_without_losing_what_is_known():
    parts = [of(True, [1e-9, 2e-9], {**LINEAR, "tolerance": 1e-6, "negative_curvature": 1.0}), of(True, [3e-9], LINEAR)]
    found = Convergence.joined(parts)
    assert found.of == found.reached == 3 and found.largest == 3e-9 and found.indefinite
    assert Convergence.read(True, found.written) == found


def test_what_was_not_measured_is_not_spoken_of():
    found = of(False, [0.2, np.nan, 3.0, np.nan], LINEAR)
    assert "measured for 2 of 4" in found.summary
    assert "(measured for 2 of 4 candidates)" in found.remarks("EK-FAC")[0]
    assert found.written["measured"] == 2 and Convergence.read(False, found.written) == found
    joined = Convergence.joined([found, of(False, [0.1, 0.3], LINEAR)])
    assert (joined.known, joined.of) == (4, 6)
    assert "measured" not in of(False, [0.2, 3.0], LINEAR).written
