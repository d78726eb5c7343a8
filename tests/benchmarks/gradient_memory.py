"""Peak memory of the products of N training gradients with Q queries, in a process of its own: prints it in GiB.

    python -m tests.benchmarks.gradient_memory N Q
"""

import sys
import time

import torch

from engine.basics.resident import peak_resident
from engine.gradients.chunks import BUDGET
from engine.gradients.factors import gradient_forms
from engine.gradients.products import TrainingGradients
from engine.models.cnn import cnn
from engine.problems.module import ModuleProblem


def main(n, queries):
    torch.manual_seed(0)
    problem = ModuleProblem(cnn((1, 28, 28), 10), torch.rand(n, 1, 28, 28), torch.arange(n) % 10,
                            torch.rand(queries, 1, 28, 28), torch.arange(queries) % 10)
    signal = torch.randn(queries, 10)
    start, found = time.perf_counter(), torch.empty(queries, n)
    held = sum(form.nbytes for form in gradient_forms(problem.network, problem.x[:1], problem.y[:1], problem.loss))
    for rows in torch.arange(n).split(max(1, BUDGET // 2 // held)):
        found[:, rows] = TrainingGradients(problem, rows).products(problem.queries, signal)
    seconds = time.perf_counter() - start
    assert found.isfinite().all()
    print(peak_resident() / 2**30, seconds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
