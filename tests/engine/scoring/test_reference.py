"""How an exact answer is known: bounds against independent optima, and blame only where there is one."""

import numpy as np
import pytest
import torch

from engine.analysis.comparison import compare
from engine.problems import ModuleProblem, SoftmaxProblem
from engine.question.interventions import Upweight
from engine.scoring.compute import compute
from engine.scoring.identities import EVERY_PROBLEM, ProblemFacts
from engine.scoring.reference import How, SolveEvidence, standing, up
from engine.scoring.said import Says
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases
from tests.engine.single_thread import one_thread  # noqa: F401

CONVEX = ProblemFacts(convex=True, linear=True, classes=3)
ALPHA = 0.02
RAISED, WEIGHT = {"kind": "upweight", "alpha": ALPHA}, {"kind": "infinitesimal"}
ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}


def of(intervention, process, estimator="exact"):
    return Scoring.of("query_loss", intervention, process, estimator)


def search(iterations, **more):
    return {"kind": "local_search", "iterations": iterations, **more}


@pytest.mark.parametrize(("intervention", "process", "facts", "how"), [
    (ADD, STEP, EVERY_PROBLEM, How.DEFINED),
    (ADD, {"kind": "trajectory", "eta": 0.1}, EVERY_PROBLEM, How.DEFINED),
    (RAISED, {"kind": "retrain"}, EVERY_PROBLEM, How.DEFINED),
    (RAISED, {"kind": "retrain"}, CONVEX, How.SOLVED),
    (WEIGHT, {"kind": "replay"}, EVERY_PROBLEM, How.DEFINED),
    (RAISED, {"kind": "reoptimize"}, CONVEX, How.SOLVED),
    (RAISED, {"kind": "reoptimize"}, EVERY_PROBLEM, How.UNMEASURED),
    (WEIGHT, {"kind": "local_response"}, CONVEX, How.SOLVED),
    (WEIGHT, {"kind": "local_response"}, EVERY_PROBLEM, How.UNMEASURED),
    (RAISED, search(20), EVERY_PROBLEM, How.DEFINED),
])
def test_what_is_known_before_anything_is_computed(intervention, process, facts, how):
    found = standing(of(intervention, process), facts)
    assert found.how is how and found.trusted == (how in (How.DEFINED, How.SOLVED))


def test_iterations_are_themselves_and_no_reference_for_an_inverse_hessian():
    exact, linear = of(RAISED, search(20)), of(RAISED, search(20), "lissa")
    assert standing(exact, EVERY_PROBLEM, judged=exact).trusted
    assert not standing(exact, EVERY_PROBLEM, judged=linear).trusted
    found = verdict(exact, linear)
    assert found.code == "approximation error" and "neither is known to be right" in found.reason
    assert found.headline == "Same question, neither answer is known to be right"
    assert "is the error of" not in found.reason


def test_a_bound_holds_and_is_that_of_gradient_and_curvature():
    """‖θ̂ − θ*‖ ≤ ‖∇F‖/λ, and the query loss falls by at most √2‖q‖ for each unit of the way."""
    problem = naive.problem(n=30, d=3, candidates=range(6), queries=4, l2=0.02)
    scores = compute(problem, of(RAISED, {"kind": "reoptimize"}))[0]
    found = standing(scores.scoring, CONVEX, SolveEvidence.of([scores]))
    assert found.bound == pytest.approx(scores.residual.max() / 0.02) and f"{up(found.bound):.1e}" in found.why
    before = naive.values(scores.scoring.readout, problem, problem.weights)
    for place, k in enumerate(problem.candidates.tolist()):
        optimum = naive.optimum(problem, Upweight(alpha=ALPHA), k)
        true = naive.values(scores.scoring.readout, problem, optimum) - before
        allowed = 2**0.5 * problem.queries.norm(dim=1).numpy() * found.bound + 1e-12
        assert (np.abs(scores.values[:, place] - true.numpy()) <= allowed).all()


def test_a_search_that_reaches_the_one_optimum_is_a_reference_and_one_that_stops_before_is_not():
    problem = naive.problem(n=30, d=3, candidates=range(4), queries=4, l2=0.05)
    linear = of(RAISED, search(300), "cholesky")
    for iterations, how in ((300, How.SOLVED), (2, How.SEARCH)):
        scores = compute(problem, of(RAISED, search(iterations)))[0]
        found = standing(scores.scoring, CONVEX, SolveEvidence.of([scores]), linear)
        assert found.how is how, found
    forces = [naive.gradient(problem.weights, problem, extra=[(k, int(problem.y[k]), ALPHA)]).norm().item()
              for k in problem.candidates.tolist()]  # at the optimum of the objective without it
    left = max(residual / force for residual, force in zip(scores.residual, forces, strict=True))
    assert scores.provenance["convergence"]["gradient_over_force"] == pytest.approx(left, rel=1e-4)


def test_blame_is_withheld_where_the_matrix_is_indefinite_and_given_where_it_is_not(one_thread):  # noqa: F811
    problem = network_cases.problem(network_cases.smooth, (4,), n=10, queries=3, candidates=range(5), l2=1e-3)
    for damping, trusted in ((0.0, False), (3.0, True)):
        process = {"kind": "local_response", "damping": damping}
        pair = compute(problem, [of(WEIGHT, process), of(WEIGHT, process, "cg_gauss_newton")])
        found = compare([pair], problem=ModuleProblem).verdicts[0][1]
        says = {said.says for said in found.claims}
        assert (Says.BLAMED in says) == (Says.TRUSTED in says) == trusted, found.reason
        assert ("neither is known to be right" in found.reason) != trusted
        assert ("solved to a relative residual of" in found.reason) == trusted


def test_the_one_that_is_trusted_is_named_with_its_bound():
    problem = naive.problem(n=30, d=3, candidates=range(6), queries=4, l2=0.02)
    pair = compute(problem, [of(RAISED, {"kind": "reoptimize"}, "lissa"), of(RAISED, {"kind": "reoptimize"})])
    for seed in (pair, pair[::-1]):
        reason = compare([seed], problem=SoftmaxProblem).verdicts[0][1].reason
        assert "The exact answer is known to be right: the gradient norm at the one optimum is" in reason
        assert "so its parameters are within" in reason
        assert reason.count("The whole difference is the error of inverse Hessian (LiSSA)") == 1


@pytest.mark.parametrize("stretch", [0.9, 1.1])
def test_a_descent_that_is_unstable_where_it_starts_is_said_to_be(stretch):
    """By all eigenvalues of the Hessian at zero."""
    problem = naive.problem(n=30, d=3, candidates=range(4), queries=4, l2=0.02)
    largest = torch.linalg.eigvalsh(naive.hessian(torch.zeros_like(problem.weights), problem))[-1].item()
    process = {"kind": "replay", "eta": stretch * 2 / largest, "steps": 20}
    pair = compute(problem, [of(WEIGHT, process), of(WEIGHT, {"kind": "local_response"})])
    reason = compare([pair], problem=SoftmaxProblem).verdicts[0][1].reason
    assert ("too large to be stable" in reason) == (stretch > 1)
    assert stretch < 1 or f"the Hessian is {2 * stretch:.3g} there" in reason


@pytest.mark.parametrize(("value", "told"), [(3.14e-7, 3.2e-7), (3.1e-7, 3.1e-7), (9.99, 10), (428, 430), (0.0, 0.0),
                                             (float("inf"), float("inf"))])
def test_what_is_at_most_so_much_is_rounded_up(value, told):
    assert up(value) == told >= value
