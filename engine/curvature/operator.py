r"""A symmetric linear operator on R^P, the curvature of a training objective with its damping: what solvers take.

    A = C + δI,   C = (1/n) Σ_i C_i + λ∘I

with C_i what example i's loss contributes at θ_D, λ_j the regulariser of parameter j, and δ the damping. The data term
is a mean over the rows, not a sum; a mini-batch's mean stands for it. One matrix a file: `softmax_hessian`, `hessian`,
`gauss_newton`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature.eigenpairs import Eigenpairs
from engine.curvature.model import Curved

Linear = Callable[[Tensor], Tensor]


class Operator(ABC):
    """A = C + δI of a problem at θ_D; immutable but for what it keeps to multiply faster.

    damping: δ ≥ 0. options: memory budget, seed, and whom to ask for cancelling; `check` is called in every product.
    rows (b,): a mini-batch, whose mean stands for the training set's; all n examples where it is left out.
    """

    convex: ClassVar[bool] = False
    """Whether C is positive semidefinite for every loss that the problem can have."""
    gauss_newton: ClassVar[bool] = False
    """Whether C is the Gauss–Newton matrix in place of the objective's Hessian."""
    measured: int | None = None
    """How many columns of a solution have their residual measured, where the solver needs none; None for all."""
    power_steps: ClassVar[tuple[int, int]] = (10, 10)
    """Power iterations on the first mini-batch and on every later one, for the largest eigenvalue of any."""

    def __init__(self, problem: Curved, damping: float = 0.0, options: Options | None = None,
                 rows: Tensor | None = None) -> None:
        self.problem, self.damping, self.rows = problem, damping, rows
        self.options = Options() if options is None else options

    @property
    def size(self) -> int:
        """P."""
        return self.problem.parameters

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """Of the vectors that it multiplies."""

    @property
    def device(self) -> torch.device:
        return self.problem.device

    @abstractmethod
    def matmul(self, vectors: Tensor) -> Tensor:
        """(C + δI)V for V (P, b) -> (P, b), a new tensor."""

    def __matmul__(self, vectors: Tensor) -> Tensor:
        return self.matmul(vectors)

    @abstractmethod
    def damped(self, damping: float) -> Operator:
        """The same C with another δ in place of its own; what is kept of C is shared."""

    def batch(self, rows: Tensor) -> Operator:
        """The same matrix of a mini-batch `rows` (b,), with the same damping."""
        return type(self)(self.problem, self.damping, self.options, rows)

    @property
    def facts(self) -> dict[str, float]:
        """What a solution should say of the matrix that it was measured against."""
        return {}

    @abstractmethod
    def eigenpairs(self, rank: int) -> Eigenpairs:
        """Of C: the `rank` pairs of largest magnitude, kept on the problem for every damping."""

    def smallest_eigenvalue(self, passes: int | None = None) -> float:
        """An upper bound of the smallest eigenvalue of the objective's Hessian; zero where it is convex. passes: over
        all n examples, at most."""
        return 0.0

    def proves_indefinite(self, vectors: Tensor, images: Tensor) -> bool:
        """Whether some column v of V (P, b) has vᵀAv < 0 beyond rounding, where that says something; images: AV."""
        return False

    def decoupled(self, rhs: Tensor) -> tuple[Tensor | float, Tensor]:
        """(x₀, rest) with A⁻¹ rhs = x₀ + A⁻¹ rest, x₀ in closed form: (0, rhs) where nothing is known."""
        return 0.0, rhs

    def for_tolerance(self, tolerance: float) -> Operator:
        """The same matrix in the least precision that reaches a relative residual."""
        return self

    def preconditioner(self) -> Linear | None:
        """An approximate inverse, (P, b) -> (P, b), symmetric and positive definite; None: the identity."""
        return None

    def memo(self, key: str, build: Callable[[], Any], version: Hashable = None) -> Any:
        """What `build()` made for `key`, kept on the problem until `version` changes."""
        return self.problem.memo(key, build, version)

    def random_start(self) -> Tensor:
        """The same (P,) Gaussian vector each time, on the operator's device and in its precision."""
        generator = torch.Generator().manual_seed(0)
        random = torch.randn(self.size, generator=generator, dtype=torch.float64)
        return random.to(device=self.device, dtype=self.dtype)
