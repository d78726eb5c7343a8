"""Ratios to the rate of matrix products and to plain torch, in one run: processor seconds of one thread.

The limit of a computation is the least arithmetic that it needs, at the rate of large square matrices of the same
precision, in turn with it, so that a busy machine is busy for both.
"""

import time
from statistics import median

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, hessian, vmap
from torch.nn.functional import cross_entropy

from engine.gradients.directional import loss_derivatives
from engine.gradients.products import TrainingGradients
from engine.models.cnn import cnn
from engine.problems.module import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.benchmarks.bench_problems import SMALL
from tests.engine.single_thread import one_thread  # noqa: F401

N, QUERIES, ROUNDS = (60, 10, 1) if SMALL else (1_000, 100, 5)
CONVOLUTIONS, LINEAR = (784 * 9 * 32, 196 * 288 * 64), (3136 * 128, 128 * 10)
"""Multiply-adds of a forward pass of the paper's CNN on 28 × 28 pixels, by layer."""
INFLUENCE = {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.5}


def spent(*runs):
    """Median processor seconds of each run, in turn."""
    times = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, own in zip(runs, times, strict=True):
            start = time.process_time()
            run()
            own.append(time.process_time() - start)
    return [median(own) for own in times]


def beside_matrices(operations, run):
    """Seconds of a run, relative to so many operations at the rate of matrix products."""
    square = torch.randn(1024, 1024)
    took, products = spent(run, lambda: square @ square)
    return took / (operations * products / (2 * 1024**3))


def pictures(n, queries):
    torch.manual_seed(0)
    problem = ModuleProblem(cnn((1, 28, 28), 10), torch.rand(n, 1, 28, 28), torch.arange(n) % 10,
                            torch.rand(queries, 1, 28, 28), torch.arange(queries) % 10)
    TrainingGradients(problem, torch.arange(20))  # finds out the layers once
    return problem


@pytest.mark.parametrize(("n", "queries"), [(N, QUERIES), (5 * N, 5 * QUERIES)])
def test_gradient_products(n, queries):
    """Forward and backward pass, each gradient written out, and ⟨g_q, g_k⟩; of linear layers by their factors."""
    problem, signal = pictures(n, queries), torch.randn(queries, 10)
    own = 2 * (3 * sum(CONVOLUTIONS) - CONVOLUTIONS[0] + 2 * sum(LINEAR))
    pair = 2 * (9 * 32 + 32 + 288 * 64 + 64 + 3136 + 128 + 128 + 10)
    ratio = beside_matrices(own * (n + queries) + pair * n * queries,
                            lambda: TrainingGradients(problem, torch.arange(n)).products(problem.queries, signal))
    print(f"\ngradient products, {n:,} × {queries:,}, CNN of {problem.parameters:,} parameters: {ratio:.1f} times the "
          "limit of matrix products")
    assert SMALL or ratio <= 2.5


def test_one_score_a_training_example():
    """Forward and backward pass, and each layer forward along the direction."""
    problem = pictures(3 * N, QUERIES)
    rows, direction = torch.arange(3 * N), torch.randn(problem.parameters)
    own = 2 * (3 * sum(CONVOLUTIONS) - CONVOLUTIONS[0] + 3 * sum(LINEAR))
    ratio = beside_matrices(own * len(rows), lambda: loss_derivatives(problem, rows, direction))
    print(f"\none score a training example, {len(rows):,}, the same CNN: {ratio:.1f} times the limit")
    assert SMALL or ratio <= 2


def small_network(width, n, queries, **options):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(64, width), nn.Tanh(), nn.Linear(width, 10))
    return ModuleProblem(module, torch.randn(n, 64), torch.arange(n) % 10, torch.randn(queries, 64),
                         torch.arange(queries) % 10, **options)


def plain_response(problem):
    """−∇ℓ(q)ᵀ (H + δI)⁻¹ ∇ℓ(z_k) by `torch.func`, (m, n)."""
    network = problem.network

    def loss(theta, x, y):
        return cross_entropy(functional_call(network.module, network.unflatten(theta), (x,)), y)

    def objective(theta):
        return loss(theta, problem.x, problem.y) + problem.l2 / 2 * theta.square().sum()

    each = vmap(grad(lambda theta, x, y: loss(theta, x[None], y[None])), (None, 0, 0))
    matrix = hessian(objective)(problem.theta) + INFLUENCE[1]["damping"] * torch.eye(problem.parameters).double()
    solved = torch.cholesky_solve(each(problem.theta, problem.x, problem.y).T, torch.linalg.cholesky(matrix))
    return each(problem.theta, problem.queries, problem.query_labels) @ solved


@pytest.mark.parametrize("width", [16, 32])
def test_exact_local_response_beside_plain_torch(width):
    n, queries, found = N // 2, QUERIES // 2, []
    ours, plain = spent(
        lambda: found.append(compute(small_network(width, n, queries, l2=1e-2, dtype="float64"),
                                     Scoring.of("query_loss", *INFLUENCE))[0].values),
        lambda: found.append(plain_response(small_network(width, n, queries, l2=1e-2, dtype="float64"))))
    torch.testing.assert_close(torch.as_tensor(found[0]), found[1], rtol=1e-9, atol=1e-12)
    print(f"\nexact local response, {n} examples, {75 * width + 10:,} parameters: {plain / ours:.1f} times as "
          "fast as plain torch")
    assert SMALL or plain / ours >= 1.5


def test_ekfac_of_a_small_network():
    """All training examples against all queries, with the residuals that are measured."""
    problem = small_network(106, N, QUERIES, l2=1e-3)
    took, = spent(lambda: compute(small_network(106, N, QUERIES, l2=1e-3), Scoring.of("query_loss", *INFLUENCE,
                                                                                        "ekfac")))
    print(f"\nEK-FAC, {N:,} examples, {problem.parameters:,} parameters: {took:.1f} s")
    assert took <= 10
