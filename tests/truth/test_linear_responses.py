"""Linear responses with dense matrices: the exact one, and what each solver of the inverse Hessian says it solves."""

import numpy as np
import pytest
import torch

from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.truth import cases
from tests.truth.naive import SMOOTH, Naive

DAMPING = 0.5
UP = {"kind": "upweight", "alpha": 1e-3}
RESPONSE = {"kind": "local_response", "damping": DAMPING}

pytestmark = [pytest.mark.parametrize("model", cases.LISTED), pytest.mark.parametrize("precision", cases.PRECISIONS)]


@pytest.fixture
def case(model, precision):
    problem = cases.problem(model, precision)
    return problem, Naive(problem), 1e-7 if precision == "float64" else 2e-3


def scores(problem, name, estimator, intervention=None, process=None):
    return compute(problem, Scoring.of(name, intervention or {"kind": "infinitesimal"}, process or RESPONSE,
                                       estimator))[0].values


def near(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def answers(naive, matrix, name):
    """−∇B(q)ᵀ (C + δI)⁻¹ ∇ℓ(z_k)."""
    damped = matrix + DAMPING * torch.eye(len(matrix), dtype=torch.float64)
    return naive.directional(name, [-torch.linalg.solve(damped, naive.gradient(lambda at, k=k: naive.loss(k, at)))
                                    for k in naive.candidates])


def test_the_exact_response_and_conjugate_gradients(case):
    problem, naive, tolerance = case
    hessian, gauss_newton = naive.hessian(naive.objective), naive.gauss_newton()
    for name in SMOOTH:
        expected = answers(naive, hessian, name)
        near(scores(problem, name, "exact"), expected, tolerance)
        near(scores(problem, name, "cg_gauss_newton"), answers(naive, gauss_newton, name), 0.03)
        process = {"kind": "reoptimize", "damping": DAMPING}
        near(scores(problem, name, "arnoldi", UP, process), 1e-3 * scores(problem, name, "arnoldi"), 1e-5)


def test_a_residual_is_that_of_the_system(case):
    """CG claims ‖(C + δI)x − g‖ ≤ 0.01 ‖g‖, so its scores are off by 0.01/δ times the lengths at most."""
    problem, naive, _ = case
    found = compute(problem, Scoring.of("query_logit", {"kind": "infinitesimal"}, RESPONSE, "cg_gauss_newton"))[0]
    assert (found.residual[found.converged] <= 0.01).all() and found.converged.all()
    expected = answers(naive, naive.gauss_newton(), "query_logit")
    sizes = torch.stack([naive.gradient(lambda at, k=k: naive.loss(k, at)).norm() for k in naive.candidates]).numpy()
    slopes = np.array([naive.gradient(lambda at, q=q: naive.behavior("query_logit", q, at)).norm().item()
                       for q in range(len(naive.labels))])
    assert (np.abs(found.values - expected) <= 0.0101 * np.outer(slopes, sizes) / DAMPING).all()


def test_datainf_is_the_mean_of_inverses(case):
    """Layer by layer, (1/n) Σ_i (g_i g_iᵀ + (λ + δ)I)⁻¹, each inverse formed."""
    problem, naive, tolerance = case
    gradients = [naive.gradient(lambda at, i=i: naive.loss(i, at)) for i in range(naive.n)]
    layers, start = {}, 0
    for name, shape in naive.shapes.items():
        layers.setdefault(name.rpartition(".")[0], []).extend(range(start, start := start + shape.numel()))
    directions = []
    for k in naive.candidates:
        x = torch.zeros_like(naive.theta)
        for rows in layers.values():
            size = torch.eye(len(rows), dtype=torch.float64) * (cases.L2 + DAMPING)
            x[rows] = sum(torch.linalg.solve(torch.outer(g[rows], g[rows]) + size, gradients[k][rows])
                          for g in gradients) / naive.n
        directions.append(-x)
    for name in SMOOTH:
        near(scores(problem, name, "datainf"), naive.directional(name, directions), tolerance)
