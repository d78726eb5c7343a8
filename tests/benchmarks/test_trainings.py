"""Trainings and what is computed of them: subsets trained side by side, and derivatives of a run, one thread each.

Times are processor seconds, so that what else the machine does is not counted.
"""

import time
from statistics import median

import numpy as np
import pytest
import torch

from engine.analysis.datamodels import retrain, subsets
from engine.basics.options import Options
from engine.exact.replay import by_all_weights
from engine.problems import ProblemSource
from engine.problems.variants import trained_on
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Replay
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.benchmarks.bench_problems import SMALL
from tests.engine.single_thread import one_thread  # noqa: F401

MODELS = 10 if SMALL else 100
REPLAY = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"})


def spent(call):
    """Processor seconds of a call, and what it gives."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


@pytest.mark.parametrize("model,limit", [("softmax", 5.0), ("mlp", 60.0)])
def test_a_hundred_subsets_of_digits(model, limit):
    source = {"recipe": {"epochs": 15, "batch_size": 64, "learning_rate": 0.1}} if model == "mlp" else {}
    problem = ProblemSource(dataset="digits", model=model, n_queries=50, **source).build().problem
    kept = subsets(len(problem.candidates), MODELS)
    took, models = min((spent(lambda: retrain(problem, kept)) for _ in range(3)), key=lambda run: run[0])
    print(f"\n{MODELS} subsets of {model} on digits: {took:.1f} s of one core (limit {limit:g} s for 100)")
    assert models.logits.isfinite().all() and (SMALL or took <= limit)


def test_replay_of_a_network_beside_its_training():
    """20 queries against 500 candidates: the adjoint's columns all together. The ratio is told and not held: a
    query's column is a product with every step's Hessian, which costs more than the step, and there are 20 of them."""
    n, epochs = (100, 3) if SMALL else (500, 30)
    problem = ProblemSource(dataset="digits", model="cnn", n_train=n, n_queries=20, recipe={
        "epochs": epochs, "batch_size": 50, "learning_rate": 0.05}).build().problem
    training, _ = spent(lambda: trained_on(problem, problem.examples, Options()))
    took, found = spent(lambda: compute(problem, [REPLAY])[0])
    print(f"\nreplay of a CNN, {n} digits, {epochs * n // 50} steps, 20 queries: {took:.1f} s, training "
          f"{training:.2f} s: {took / training:.0f} times as long, {took / training / 20:.1f} a query "
          "(wanted: 4 for all of them)")
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize(("model", "steps", "limit"), [("mlp", 1_000, 1.5), ("cnn", 200, 2.0)])
def test_the_derivative_of_a_run_beside_two_trainings(model, steps, limit):
    """One mean query, all weights. A layer is one product forwards and two backwards, which is a training's 3; the
    derivative of these 3 takes 6 more. With the graphs of all steps in memory that is 9, or 1.5 times two trainings;
    where they do not fit, their 3 are computed a second time, and 12 are 2 times. A first layer, whose inputs have no
    derivative, takes 2 and 2."""
    steps = steps // 10 if SMALL else steps
    problem = ProblemSource(dataset="digits", model=model, n_train=1_000, n_queries=20, recipe={
        "epochs": steps // 10, "batch_size": 100, "learning_rate": 0.05}).build().problem
    ones, behavior = torch.ones(problem.n), BEHAVIORS["query_loss"]
    rounds = [(spent(lambda: trained_on(problem, problem.examples, Options()))[0],
               spent(lambda: by_all_weights(problem, Replay(), behavior, ones, Options()))[0]) for _ in range(4)]
    training, took = (median(side) for side in zip(*rounds[1:], strict=True))  # the first has the start in it
    print(f"\nderivative of {steps:,} steps of {model}: {took:.2f} s, training {training:.2f} s: "
          f"{took / training / 2:.2f} times two trainings (limit {limit:g})")
    assert SMALL or took <= 2 * limit * training


def test_tangents_of_softmax_at_half_the_rate_of_matrix_products():
    """All candidates forwards through the descent. Its products alone are counted as work, two a step (by x and back by
    xᵀ), and their rate is that of large square matrices."""
    n = 200 if SMALL else 1_000
    problem = ProblemSource(dataset="digits", n_train=n, n_queries=min(n, 500)).build().problem
    problem.prepare()
    took, found = spent(lambda: compute(problem, [REPLAY])[0])
    square = torch.randn(1_000, 1_000, dtype=torch.float64)
    products, _ = min((spent(lambda: square @ square) for _ in range(5)), key=lambda run: run[0])
    work = 4 * n * problem.parameters * len(problem.candidates) * REPLAY.process.steps
    share = work / took / (2e9 / products)
    print(f"\ntangents of softmax, {n} candidates, {REPLAY.process.steps} steps: {took:.1f} s, {share:.0%} of the rate "
          "of matrix products (limit 50%)")
    assert np.isfinite(found.values).all() and (SMALL or share >= 0.5)
