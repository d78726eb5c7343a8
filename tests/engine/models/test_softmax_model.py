"""Softmax regression: derivatives against autograd, the fit against its own gradient and scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn.functional import cross_entropy

from engine.basics.errors import InvalidInput
from engine.models import softmax
from engine.problems import SoftmaxProblem
from tests.engine import problems_for_tests as naive

CASES = [(2, False), (2, True), (3, False), (3, True), (5, True)]
cases = pytest.mark.parametrize(("classes", "intercept"), CASES)


def make(classes, intercept, **more):
    return naive.problem(n=40, d=4, classes=classes, intercept=intercept, **more)


def somewhere(problem):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(problem.dimension, problem.classes, generator=generator, dtype=torch.float64)


@cases
def test_objective_and_gradient(classes, intercept):
    problem = make(classes, intercept)
    weights = somewhere(problem)
    torch.testing.assert_close(softmax.objective(weights, problem.x, problem.y, problem.penalty),
                               naive.objective(weights, problem), rtol=1e-14, atol=0)
    torch.testing.assert_close(softmax.gradient(weights, problem.x, problem.y, problem.penalty),
                               naive.gradient(weights, problem), rtol=1e-12, atol=1e-14)


def test_objective_by_hand():
    """Two examples, W = 0: log 2 each; W = [[1, 0]], λ = 1/2: the mean of log(1 + e^-1) and log(1 + e^2), plus 1/4."""
    x, y = torch.tensor([[1.0], [2.0]]).double(), torch.tensor([0, 1])
    l2 = torch.tensor([0.5]).double()
    assert softmax.objective(torch.zeros(1, 2).double(), x, y, l2).item() == pytest.approx(0.6931471805599453)
    weights = torch.tensor([[1.0, 0.0]]).double()
    assert softmax.objective(weights, x, y, l2).item() == pytest.approx((0.3132616875 + 2.1269280110) / 2 + 0.25)


@cases
def test_hessian(classes, intercept):
    problem = make(classes, intercept)
    weights = somewhere(problem)
    dense = softmax.hessian((problem.x @ weights).softmax(-1), problem.x, problem.penalty)
    torch.testing.assert_close(dense, naive.hessian(weights, problem), rtol=1e-10, atol=1e-13)
    torch.testing.assert_close(dense, dense.T, rtol=0, atol=1e-15)


@cases
@pytest.mark.parametrize("rows", [7, 40, 4096])
def test_hessian_products_in_any_number_of_blocks(classes, intercept, rows, monkeypatch):
    monkeypatch.setattr(softmax, "ROWS", rows)
    problem = make(classes, intercept)
    p = (problem.x @ somewhere(problem)).softmax(-1)
    generator = torch.Generator().manual_seed(2)
    vectors = torch.randn(problem.dimension, classes, 3, generator=generator, dtype=torch.float64)
    dense = softmax.hessian(p, problem.x, problem.penalty)
    torch.testing.assert_close(softmax.hessian_vector(vectors, p, problem.x, problem.penalty),
                               (dense @ vectors.reshape(len(dense), 3)).view_as(vectors), rtol=1e-12, atol=1e-14)


@cases
def test_pinning_sees_nothing_that_adds_to_zero(classes, intercept):
    problem = make(classes, True)
    dense = softmax.hessian(problem.probabilities, problem.x, problem.penalty)
    assert torch.linalg.eigvalsh(dense)[0].abs() < 1e-12 < torch.linalg.eigvalsh(problem.pinned_hessian())[0]
    vector = torch.randn(problem.dimension, classes, dtype=torch.float64)
    vector -= vector.mean(1, keepdim=True)
    pinned = softmax.pin_intercept(dense.clone(), classes)
    torch.testing.assert_close(pinned @ vector.flatten(), dense @ vector.flatten(), rtol=1e-12, atol=1e-13)
    lower = softmax.factor(pinned.clone())
    torch.testing.assert_close(lower @ lower.T, pinned, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("limit", [softmax.DENSE_LIMIT, 1], ids=["factored", "matrix-free"])
@cases
def test_the_fit_is_an_optimum(classes, intercept, limit, monkeypatch):
    monkeypatch.setattr(softmax, "DENSE_LIMIT", limit)
    problem = make(classes, intercept)
    norm = naive.gradient(problem.weights, problem).norm().item()
    assert norm < 1e-12 and problem.fit.gradient_norm == pytest.approx(norm, abs=1e-14)
    assert problem.fit.lbfgs_iterations > 0 and problem.fit.newton_iterations > 0
    assert problem.weights.sum(1).abs().max() < 1e-11, "a class-constant shift costs penalty and gains nothing"
    if classes > 2:
        torch.testing.assert_close(problem.weights, naive.sklearn_weights(problem), rtol=0, atol=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_two_classes_are_binary_logistic_regression(intercept):
    """W = (−w/2, w/2) has ½λ‖W‖² = ¼λ‖w‖², so that scikit-learn's binary model is fitted with half the λ."""
    problem = make(2, intercept)
    model = LogisticRegression(C=2 / (problem.n * problem.l2), fit_intercept=intercept, solver="newton-cholesky",
                               tol=1e-13, max_iter=500)
    model.fit(problem.x[:, :4].numpy(), problem.y.numpy())
    w = np.concatenate([model.coef_[0], model.intercept_] if intercept else [model.coef_[0]])
    naive.assert_close(problem.weights, np.stack([-w, w], 1) / 2, 1e-10)


def test_a_weak_penalty_and_raw_scales_still_reach_the_tolerance():
    for options in ({"l2": 1e-6}, {"spread": 50.0, "l2": 1e-3}, {"l2": 100.0}):
        problem = make(3, False, **options)
        assert naive.gradient(problem.weights, problem).norm() < 1e-12, options


def test_a_class_that_never_occurs_only_shrinks():
    x, y, _, _ = naive.arrays(n=30, d=3, classes=2)
    problem = SoftmaxProblem(x, y, x[:2], y[:2], l2=1e-2, classes=3)
    assert naive.gradient(problem.weights, problem).norm() < 1e-12 and problem.probabilities[:, 2].mean() < 1 / 3


def test_a_fit_that_does_not_finish_is_refused():
    problem = make(3, False)
    with pytest.raises(InvalidInput, match=r"stopped at gradient norm .* raise l2 or scale"):
        softmax.fit(problem.x, problem.y, 3, problem.penalty, tolerance=1e-30, max_newton=2)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(InvalidInput, match="not positive definite"):
        softmax.factor(-torch.eye(3, dtype=torch.float64))


def test_the_problem_reads_the_model_right():
    problem = make(3, True, candidates=[5, 1])
    chosen = problem.candidates
    torch.testing.assert_close(problem.kernel(chosen), torch.stack([problem.queries @ problem.x[k] for k in (5, 1)], 1))
    leaf = (problem.x[chosen] @ problem.weights).requires_grad_(True)
    slope = torch.autograd.grad(cross_entropy(leaf, problem.y[chosen], reduction="sum"), leaf)[0]
    torch.testing.assert_close(problem.training_signal(chosen), slope)
    share = (problem.query_logits.argmax(1) == problem.query_labels).double().mean().item()
    assert problem.accuracy() == share
    assert problem.accuracy(problem.queries[:, :-1].numpy(), problem.query_labels.numpy()) == share
    factor = problem.cholesky(0.1)
    expected = naive.gauge(naive.hessian(problem.weights, problem), problem) + 0.1 * torch.eye(len(factor)).double()
    torch.testing.assert_close(factor @ factor.T, expected, rtol=1e-10, atol=1e-12)
    assert problem.cholesky(0.1) is factor and problem.cholesky(0.2) is not factor


def test_other_candidates_share_the_trained_model_but_not_the_fingerprint(monkeypatch):
    problem = make(3, False, candidates=[0, 1])
    first = problem.fingerprint
    other = problem.with_candidates([7, 2, 3])
    problem.fit  # noqa: B018 - trains, once for both
    monkeypatch.setattr(softmax, "fit", None)
    assert other.fit is problem.fit and other.candidates.tolist() == [7, 2, 3] and problem.candidates.tolist() == [0, 1]
    assert other.cholesky() is problem.cholesky() and other.fingerprint != first == problem.fingerprint


@pytest.mark.parametrize("change", [
    {"l2": 2e-2}, {"intercept": True}, {"seed": 1}, {"candidates": [1, 0]}, {"queries": 6}, {"classes": 4},
])
def test_the_fingerprint_covers_all_that_decides(change):
    same = {"n": 12, "d": 2, "candidates": [0, 1]}
    assert naive.problem(**same).fingerprint == naive.problem(**same).fingerprint
    assert naive.problem(**same).fingerprint != naive.problem(**{**same, **change}).fingerprint


@pytest.mark.parametrize(("options", "said"), [
    ({"l2": 0.0}, "l2 is 0.0"), ({"l2": -1.0}, "l2"), ({"l2": float("nan")}, "l2"), ({"l2": float("inf")}, "l2"),
    ({"device": "gpu"}, "device `gpu` is not available"), ({"device": "cuda:9"}, "not available"),
])
def test_problems_that_are_refused(options, said):
    with pytest.raises(InvalidInput, match=said):
        naive.problem(n=12, d=2, **options)


def test_labels_beyond_the_classes_are_refused():
    x, y, q, _ = naive.arrays(n=12, d=2)
    with pytest.raises(InvalidInput, match=r"outside 0…2"):
        SoftmaxProblem(x, y, q, [3] * len(q), classes=3)


def test_a_dense_hessian_that_would_be_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(softmax, "DENSE_LIMIT", 1)
    with pytest.raises(InvalidInput, match="`cg`"):
        make(3, False).hessian  # noqa: B018
