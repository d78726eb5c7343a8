"""Error bounds against the same questions in 120 digits: no score is further off than its bound, and bounds are tight
enough to be of use."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from engine.problems import SoftmaxProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

N, D, C, M, L2 = 12, 3, 3, 3, 1e-3
CANDIDATES = (0, 4, 8)
BEHAVIORS = ("query_loss", "query_logit", "soft_margin", "probability")


@pytest.fixture(scope="module", autouse=True)
def many_digits():
    with mpmath.workdps(120):
        yield


@pytest.fixture(scope="module", params=[1.0, 30.0], ids=["plain", "confident"])
def problem(request):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(N, D)), np.arange(N) % C
    x[:, 0] += request.param * (y - 1.0)
    return SoftmaxProblem(x, y, x[:M] + 0.3 * rng.normal(size=(M, D)), y[:M], CANDIDATES, l2=L2)


def exactly(array):
    """A matrix of mpf, row by row."""
    return [[mpf(float(value)) for value in row] for row in array]


def logits(weights, x):
    return [sum(weights[d][c] * x[d] for d in range(D)) for c in range(C)]


def softmax(f):
    top = max(f)
    powers = [mpmath.exp(one - top) for one in f]
    return [one / sum(powers) for one in powers]


def value(behavior, f, label):
    rest = [one for place, one in enumerate(f) if place != label]
    logsum = lambda these: max(these) + mpmath.log(sum(mpmath.exp(one - max(these)) for one in these))  # noqa: E731
    return {"query_loss": lambda: f[label] - logsum(f), "query_logit": lambda: f[label],
            "soft_margin": lambda: f[label] - logsum(rest), "probability": lambda: softmax(f)[label]}[behavior]()


def loss_gradient(weights, x, label):
    """∇ℓ, D × C."""
    p = softmax(logits(weights, x))
    return [[x[d] * (p[c] - (c == label)) for c in range(C)] for d in range(D)]


def plus(a, b, scale=1):
    return [[one + scale * other for one, other in zip(left, right, strict=True)]
            for left, right in zip(a, b, strict=True)]


def hessian(weights, xs, shares):
    """Σ_i w_i ∇²ℓ_i + λ, as one (DC, DC) matrix in the order (feature, class)."""
    found = mpmath.eye(D * C) * mpf(L2)
    for x, share in zip(xs, shares, strict=True):
        p = softmax(logits(weights, x))
        for d in range(D):
            for c in range(C):
                for e in range(D):
                    for b in range(C):
                        found[d * C + c, e * C + b] += share * x[d] * x[e] * (p[c] * (c == b) - p[c] * p[b])
    return found


def solved(matrix, gradient):
    x = mpmath.lu_solve(matrix, mpmath.matrix([value for row in gradient for value in row]))
    return [[x[d * C + c] for c in range(C)] for d in range(D)]


def minimised(start, xs, ys, shares):
    """The optimum of Σ_i w_i ℓ_i + ½λ‖W‖², by Newton's method."""
    weights = start
    for _ in range(12):
        gradient = [[mpf(L2) * one for one in row] for row in weights]
        for x, y, share in zip(xs, ys, shares, strict=True):
            gradient = plus(gradient, loss_gradient(weights, x, y), share)
        weights = plus(weights, solved(hessian(weights, xs, shares), gradient), -1)
    return weights


class Exactly:
    """A problem in 120 digits, from θ_D as float64 has it."""

    def __init__(self, problem):
        self.x, self.q = exactly(problem.x.numpy()), exactly(problem.queries.numpy())
        self.y, self.labels = problem.y.tolist(), problem.query_labels.tolist()
        self.weights = exactly(problem.weights.numpy())

    def stepped(self, k, eta, steps):
        weights = self.weights
        for _ in range(steps):
            weights = plus(weights, loss_gradient(weights, self.x[k], self.y[k]), -mpf(eta))
        return weights

    def reoptimised(self, k, alpha=None):
        shares = [mpf(1) / N for _ in range(N)]
        if alpha is None:
            shares = [mpf(0) if row == k else mpf(1) / (N - 1) for row in range(N)]
        else:
            shares[k] += mpf(alpha)
        return minimised(self.weights, self.x, self.y, shares)

    def direction(self, k):
        """The local response of the weights."""
        whole = hessian(self.weights, self.x, [mpf(1) / N] * N)
        return [[-one for one in row] for row in solved(whole, loss_gradient(self.weights, self.x[k], self.y[k]))]

    def change(self, behavior, q, weights):
        after, before = logits(weights, self.q[q]), logits(self.weights, self.q[q])
        return value(behavior, after, self.labels[q]) - value(behavior, before, self.labels[q])

    def derivative(self, behavior, q, direction):
        """Along a direction of the weights, by a central difference of 1e-30 in 120 digits."""
        ends = [self.change(behavior, q, plus(self.weights, direction, sign * mpf("1e-30"))) for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * mpf("1e-30"))


ONE, FIVE = {"kind": "one_step", "eta": 1e-5}, {"kind": "unrolled", "eta": 0.01, "steps": 5}
ADD, REOPTIMIZE = {"kind": "add_occurrence"}, {"kind": "reoptimize"}
ASKED = {
    "one step": (ADD, ONE, "exact", lambda exact, k: exact.stepped(k, 1e-5, 1), False),
    "five steps": (ADD, FIVE, "exact", lambda exact, k: exact.stepped(k, 0.01, 5), False),
    "first order": (ADD, ONE, "first_order", lambda exact, k: [
        [-mpf(1e-5) * one for one in row] for row in loss_gradient(exact.weights, exact.x[k], exact.y[k])], True),
    "removal": ({"kind": "remove"}, REOPTIMIZE, "exact", lambda exact, k: exact.reoptimised(k), False),
    "upweighting": ({"kind": "upweight", "alpha": 1e-6}, REOPTIMIZE, "exact",
                    lambda exact, k: exact.reoptimised(k, 1e-6), False),
    "heavy": ({"kind": "upweight", "alpha": 0.5}, REOPTIMIZE, "exact", lambda exact, k: exact.reoptimised(k, 0.5),
              False),
    "local response": ({"kind": "infinitesimal"}, {"kind": "local_response"}, "exact",
                       lambda exact, k: exact.direction(k), True),
}
TIGHT = 1e-4
"""A bound says something where it is this small beside the largest score; what a search leaves differs by processor."""
LOOSE = 1e6
"""A bound may exceed the error that one score happens to have by so much, in the middle: rounding errors cancel."""


@pytest.mark.parametrize("name", ASKED)
def test_no_score_is_further_off_than_its_bound(problem, name):
    intervention, process, estimator, moved, linear = ASKED[name]
    exact = Exactly(problem)
    found = compute(problem, [Scoring.of(behavior, intervention, process, estimator) for behavior in BEHAVIORS])
    places = [moved(exact, k) for k in CANDIDATES]
    for behavior, scores in zip(BEHAVIORS, found, strict=True):
        assert scores.converged.all() and np.isfinite(scores.error).all()
        read = exact.derivative if linear else exact.change
        truth = [[read(behavior, q, place) for place in places] for q in range(M)]
        off = np.array([[float(abs(mpf(scores.values[q, k]) - truth[q][k])) for k in range(len(CANDIDATES))]
                        for q in range(M)])
        assert (off <= scores.error).all(), (behavior, (off / scores.error).max())
        largest = np.abs(scores.values).max(1, keepdims=True)
        assert np.median(scores.error / largest) < TIGHT
        assert np.median(scores.error) < LOOSE * max(np.median(off), 1e-17 * math.fabs(float(largest.max())))
