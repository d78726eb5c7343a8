"""Small softmax problems, and naive references that share no code with the engine beyond torch itself."""

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn.functional import cross_entropy

from engine.problems import SoftmaxProblem

DOUBLE = torch.float64


def arrays(n=60, d=5, classes=3, queries=7, seed=0, spread=1.0):
    """Overlapping Gaussian classes: (x_train, y_train, x_query, y_query), every class present."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, d))
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    y_query = rng.integers(0, classes, queries)
    draw = lambda labels: spread * (centres[labels] + rng.normal(size=(len(labels), d)))  # noqa: E731
    return draw(y), y, draw(y_query), y_query


def problem(n=60, d=5, classes=3, queries=7, seed=0, candidates=None, spread=1.0, **options):
    options = {"l2": 1e-2, **options}
    return SoftmaxProblem(*arrays(n, d, classes, queries, seed, spread), candidates, **options)


def objective(weights, problem, data_weight=1.0, extra=()):
    """data_weight·mean cross-entropy + ½ Σ λ_j W_j² + Σ weight·ℓ(x_k, label) over extra (index, label, weight)."""
    total = data_weight * cross_entropy(problem.x @ weights, problem.y)
    features = problem.dimension - problem.intercept
    total = total + 0.5 * problem.l2 * weights[:features].square().sum()
    for index, label, weight in extra:
        total = total + weight * cross_entropy(problem.x[index:index + 1] @ weights, torch.tensor([label]))
    return total


def intervened(problem, intervention, k):
    """Arguments of `objective` for one intervention on training example k."""
    n, label = problem.n, int(problem.y[k])
    if intervention is None:
        return {}
    kind = intervention.kind
    if kind == "upweight":
        return {"extra": [(k, label, intervention.alpha)]}
    if kind == "relabel":
        return {"extra": [(k, label, -1 / n), (k, intervention.label, 1 / n)]}
    if intervention.normalization == "n":
        return {"extra": [(k, label, -1 / n)]}
    return {"data_weight": n / (n - 1), "extra": [(k, label, -1 / (n - 1))]}


def gradient(weights, problem, **change):
    leaf = weights.clone().requires_grad_(True)
    return torch.autograd.grad(objective(leaf, problem, **change), leaf)[0]


def hessian(weights, problem, **change):
    """The dense (D·C, D·C) Hessian by autograd."""
    size = weights.numel()
    full = torch.autograd.functional.hessian(lambda w: objective(w, problem, **change), weights)
    return full.reshape(size, size)


def gauge(dense, problem):
    """Plus a unit along the class-constant intercept, so that the singular Hessian can be solved with."""
    if not problem.intercept:
        return dense
    dense, c = dense.clone(), problem.classes
    dense[-c:, -c:] += torch.ones(c, c, dtype=DOUBLE) / c
    return dense


def optimum(problem, intervention=None, k=0, start=None, tolerance=1e-13, change=None):
    """Damped dense Newton in float64 from zero (or `start`): the optimum of one intervened objective, (D, C).

    change: arguments of `objective`, in place of an intervention on training example k.
    """
    change = intervened(problem, intervention, k) if change is None else change
    w = torch.zeros(problem.dimension, problem.classes, dtype=DOUBLE) if start is None else start.clone()
    for _ in range(200):
        g = gradient(w, problem, **change)
        if g.norm() < tolerance:
            break
        step = torch.linalg.solve(gauge(hessian(w, problem, **change), problem), g.flatten()).view_as(w)
        length, value = 1.0, objective(w, problem, **change)
        while length > 1e-4 and objective(w - length * step, problem, **change) > value:
            length /= 2
        w = w - length * step
    return w


def sklearn_weights(problem, x=None, y=None, sample_weight=None, l2=None):
    """scikit-learn's optimum of mean-loss + (l2/2)‖W‖² as (D, C), fitted to 1e-12."""
    x = problem.x if x is None else x
    y = problem.y if y is None else y
    features = x[:, :-1] if problem.intercept else x
    total = len(y) if sample_weight is None else float(np.sum(sample_weight))
    model = LogisticRegression(C=1 / (total * (l2 or problem.l2)), fit_intercept=problem.intercept,
                               solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(features.numpy(), y.numpy(), sample_weight=sample_weight)
    weights = torch.as_tensor(model.coef_.T)
    if problem.intercept:
        weights = torch.cat([weights, torch.as_tensor(model.intercept_)[None]])
    return centred(weights, problem)


def centred(weights, problem):
    """The same model with intercepts that add to zero, and (where λ > 0 forces it) weights that do."""
    weights = weights.clone()
    if problem.intercept:
        weights[-1] -= weights[-1].mean()
    return weights


def values(behavior, problem, weights):
    """B(q; W) of every query, (m,)."""
    return behavior.value(problem.queries @ weights, problem.query_labels)


def assert_close(found, expected, relative, floor=0.0):
    """|found − expected| ≤ relative·max|expected| + floor, anywhere."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape
    worst = np.abs(found - expected).max()
    assert worst <= relative * np.abs(expected).max() + floor, f"off by {worst:.3e}, scale {np.abs(expected).max():.3e}"
