"""A further kind of problem is one class: Poisson regression here, whose gradients are inputs times residuals.

It says what it offers and fills the gradient store; the estimators that read gradients, TracIn and the baselines among
them, and the aggregation over queries are the same code as for all kinds.
"""

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.gradients.checkpoint import Checkpoint
from engine.gradients.response import GradientTerm
from engine.problems.candidates import Examples
from engine.problems.problem import Problem
from engine.scoring.aggregate import Mean
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.pooled import aggregated


class PoissonStore:
    """∇ℓ(z_k) = (exp(θ·x_k) − y_k) x_k at one θ."""

    def __init__(self, problem, rows, theta):
        x = problem.x[rows]
        self.problem, self.theta = problem, theta
        self.gradients = ((x @ theta).exp() - problem.y[rows])[:, None] * x

    def norms(self):
        return self.gradients.norm(dim=1)

    def term(self, weight, *, normalised=False, preconditioned=False, divided=False):
        assert not preconditioned and not divided, "plain descent has no moments"
        queries = self.problem.queries
        own = torch.nn.functional.normalize(self.gradients) if normalised else self.gradients

        def products(signal):
            slopes = signal * queries
            return weight * (torch.nn.functional.normalize(slopes) if normalised else slopes) @ own.T

        return GradientTerm(self.problem.outputs(queries, self.theta), products, len(own))


class PoissonProblem(Problem):
    """log E[y] = θ·x, one output; a query's behavior is read off it."""

    kind, noun, offers = "poisson", "Poisson regression", frozenset({"gradients", "representations"})
    live_seconds, live_device, classes, described, precision = 1.0, "cpu", 1, "poisson", "float64"
    sizes, facts = {}, {}

    def __init__(self, x, y, queries, theta, checkpoints=(), shared=None):
        self.device, self.checkpoints, self._theta = torch.device("cpu"), checkpoints, theta
        labels = torch.zeros(len(queries), dtype=torch.long)
        super().__init__(Examples(x, y, queries, labels, torch.arange(len(x))), shared)

    parameters = property(lambda self: len(self._theta))
    theta = property(lambda self: self._theta)
    query_logits = property(lambda self: self.outputs(self.queries))
    probabilities = training_signal = jacobian = retrained_outputs = None

    def outputs(self, x, theta=None):
        return (x @ (self._theta if theta is None else theta))[:, None]

    def representations(self, x):
        return x

    def gradients(self, rows, options, point=None):
        return PoissonStore(self, rows, self._theta if point is None else point.theta)

    def checkpoints_of(self, process):
        return [(point, process.eta * point.learning_rate) for point in self.checkpoints[-process.checkpoints:]]

    def double(self):
        return self

    def holding(self, examples, shared):
        return PoissonProblem(examples.x, examples.y, examples.queries, self._theta, self.checkpoints, shared)

    def _inputs(self, x):
        return x


@pytest.fixture(scope="module")
def problem():
    torch.manual_seed(0)
    x, queries, theta = torch.randn(9, 3).double(), torch.randn(4, 3).double(), 0.3 * torch.randn(3).double()
    points = tuple(Checkpoint(scale * theta, rate) for scale, rate in ((0.3, 0.2), (1.0, 0.1)))
    return PoissonProblem(x, torch.poisson((x @ theta).exp()), queries, theta, points)


def by_autograd(problem, theta):
    """∇ℓ(z_k) (n, P) of the negative log-likelihood, by a loop."""
    rows = []
    for x, y in zip(problem.x, problem.y, strict=True):
        leaf = theta.clone().requires_grad_()
        rows.append(torch.autograd.grad((leaf @ x).exp() - y * (leaf @ x), leaf)[0])
    return torch.stack(rows)


@pytest.mark.parametrize("name", ["gradsim", "gradsim_cosine"])
def test_gradient_similarity_is_what_autograd_says(problem, name):
    own, queries = by_autograd(problem, problem.theta), problem.queries  # ∇f(q) = q
    if name == "gradsim_cosine":
        own, queries = torch.nn.functional.normalize(own), torch.nn.functional.normalize(queries)
    [scores] = compute(problem, NAMED[name].implied("query_logit", eta=0.3))
    np.testing.assert_allclose(scores.oriented, -0.3 * queries @ own.T)


def test_tracin_adds_the_checkpoints_up(problem):
    [scores] = compute(problem, NAMED["tracin"].implied("query_logit", eta=0.5, checkpoints=2))
    expected = sum(-0.5 * point.learning_rate * problem.queries @ by_autograd(problem, point.theta).T
                   for point in problem.checkpoints)
    np.testing.assert_allclose(scores.oriented, expected)


def test_baselines_and_aggregation_need_nothing_more(problem):
    [length], [chance] = (compute(problem, NAMED[name].implied()) for name in ("gradient_norm", "random"))
    np.testing.assert_allclose(length.oriented[0], by_autograd(problem, problem.theta).norm(dim=1))
    assert chance.oriented.shape == (4, 9)
    scoring = NAMED["gradsim"].implied("query_logit")
    np.testing.assert_allclose(aggregated(problem, [scoring], Mean())[0], compute(problem, scoring)[0].oriented.mean(0))


def test_what_it_does_not_offer_is_refused_in_a_sentence(problem):
    with pytest.raises(InvalidInput, match="does not target `retrain` for Poisson regression"):
        compute(problem, NAMED["loo"].implied("query_logit"))
