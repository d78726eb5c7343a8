"""What the measurements share: their sizes, real pictures or a stand-in, and a clock.

BENCH=small runs every measurement at a tenth of its size, without asserting ratios, to see that it runs.
"""

import os
import time
from pathlib import Path

import numpy as np

from engine.basics.errors import MissingData
from engine.problems import ProblemSource, SoftmaxProblem
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory

SMALL = os.environ.get("BENCH") == "small"
PEER = Path(os.environ.get("PEERS_PYTHON", Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"))
"""The interpreter of the environment of pyDVL and quanda, which `make bench` makes."""


def fashion(n, queries, candidates, pool=1, l2=1e-4):
    """FashionMNIST, averaged over pool × pool pixels, as (problem, name); without it a synthetic problem as large."""
    source = ProblemSource(dataset="fashion_mnist", n_train=n, n_test=queries, n_queries=queries,
                           n_candidates=candidates, pool=pool, l2=l2)
    try:
        return source.build().problem, f"FashionMNIST {28 // pool}×{28 // pool}"
    except MissingData:
        return synthetic(n, (28 // pool)**2, queries, candidates, l2), "synthetic images"


def synthetic(n, d, queries, candidates, l2=1e-4, classes=10):
    """Overlapping classes with features in [0, 1], half of them zero, as pictures have them."""
    rng = np.random.default_rng(0)
    centres = 2.5 / d**0.5 * rng.normal(size=(classes, d))

    def draw(count):
        y = rng.integers(0, classes, count)
        return np.clip(centres[y] + 0.5 * rng.normal(size=(count, d)), 0, 1), y

    return SoftmaxProblem(*draw(n), *draw(queries), rng.permutation(n)[:candidates], l2=l2, classes=classes)


def seconds(function, repeat=1):
    """(least wall seconds of `repeat` calls, the last result)."""
    times, result = [], None
    for _ in range(repeat):
        start = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - start)
    return min(times), result


def untouched(problem):
    """The same trained problem with nothing else computed: no Hessian, no factor, no preconditioner."""
    fresh = problem.holding(problem.examples, Shared(ProblemMemory(), ProblemMemory()))
    fresh.of_model("fit", lambda: problem.fit)
    return fresh
