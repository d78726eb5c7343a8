"""Small problems, right-hand sides and a naive dense inverse, for all solvers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from engine.basics.options import Options
from engine.curvature import InverseHessian, Solution
from engine.models.softmax import Fit, objective
from engine.problems.candidates import Shared
from engine.problems.memory import ProblemMemory
from engine.problems.softmax import SoftmaxProblem

CASES = [
    # classes, intercept, damping, columns
    (2, False, 0.0, 1),
    (2, True, 0.01, 7),
    (3, False, 0.01, 7),
    (3, True, 0.0, 7),
    (5, True, 0.0, 1),
    (5, False, 0.0, 7),
]


def make(classes: int = 3, intercept: bool = False, *, n: int = 60, d: int = 6, l2: float = 1e-2,
         device: str = "cpu") -> SoftmaxProblem:
    """A fresh problem; its training on the CPU is done once."""
    problem = fresh(classes, intercept, n, d, l2, device)
    if device == "cpu":
        problem.of_model("fit", lambda: trained(classes, intercept, n, d, l2))
    return problem


def fresh(classes: int, intercept: bool, n: int, d: int, l2: float, device: str = "cpu") -> SoftmaxProblem:
    rng = np.random.default_rng(classes)
    x, y = rng.normal(size=(n, d)), np.arange(n) % classes
    x[:, 0] += y
    return SoftmaxProblem(x, y, x[:3], y[:3], l2=l2, intercept=intercept, device=device)


@cache
def trained(*arguments) -> Fit:
    return fresh(*arguments).fit


def untrained(problem: SoftmaxProblem) -> SoftmaxProblem:
    """The same problem at W = 0, where every class is equally likely."""
    other = problem.holding(problem.examples, Shared(ProblemMemory(), ProblemMemory()))
    other.of_model("fit", lambda: Fit(problem.x.new_zeros(problem.dimension, problem.classes), 0.0, 0, 0))
    return other


def gradients(problem: SoftmaxProblem, columns: int) -> torch.Tensor:
    """∇ℓ(z_k) of the first examples, (D, C, b)."""
    chosen = torch.arange(columns, device=problem.device)
    return torch.einsum("bd,bc->dcb", problem.x[chosen], problem.training_signal(chosen))


def naive_matrix(problem: SoftmaxProblem, damping: float) -> torch.Tensor:
    """H + damping·I by automatic differentiation of the objective."""
    def value(flat):
        return objective(flat.view(problem.dimension, problem.classes), problem.x, problem.y, problem.penalty)

    hessian = torch.autograd.functional.hessian(value, problem.weights.reshape(-1))
    return hessian + damping * torch.eye(len(hessian), dtype=hessian.dtype, device=hessian.device)


def pinned(problem: SoftmaxProblem, matrix: torch.Tensor) -> torch.Tensor:
    """With a unit on the class-constant intercept, as `softmax.factor` has it."""
    matrix = matrix.clone()
    if problem.intercept:
        matrix[-problem.classes:, -problem.classes:] += 1.0 / problem.classes
    return matrix


def naive_solution(problem: SoftmaxProblem, matrix: torch.Tensor, rhs: torch.Tensor) -> torch.Tensor:
    return (torch.linalg.inv(pinned(problem, matrix)) @ rhs.reshape(len(matrix), -1)).view(rhs.shape)


def naive_residual(problem: SoftmaxProblem, x: torch.Tensor, rhs: torch.Tensor, damping: float) -> torch.Tensor:
    fault = naive_matrix(problem, damping) @ x.reshape(-1, x.shape[-1]) - rhs.reshape(-1, x.shape[-1])
    return torch.stack([fault[:, k].norm() / rhs[..., k].norm() for k in range(x.shape[-1])])


def close(a: torch.Tensor, b: torch.Tensor, relative: float) -> bool:
    return bool((a - b).norm() <= relative * b.norm())


def solve(solver: InverseHessian, problem: SoftmaxProblem, rhs: torch.Tensor, damping: float,
          options: Options | None = None, **settings) -> Solution:
    """A solver's solution for right-hand sides (D, C, b), in their shape."""
    operator = solver.operator(problem, damping, options)
    solution = solver.solve(operator, rhs.reshape(problem.parameters, -1), **settings)
    return replace(solution, x=solution.x.view(rhs.shape))
