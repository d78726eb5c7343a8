r"""What a solver of (C + δI)x = rhs returns, and what its solution is worth: the residual of every column, and whether
the matrix is positive definite."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.basics.settings import Settings
from engine.curvature.model import Curved
from engine.curvature.operator import Operator

RELATIVE = "relative_residual"
"""Of a work's counts: 1 where its residual is that of a linear system, relative to the right-hand side."""


PROBES = 8


@dataclass(frozen=True)
class Rounding:
    """How far rounding left x from the solution of Ax = rhs, A = C + δI, itself built with rounding.

    left (P, b): A⁻¹(rhs − Ax), of the matrix as it is held. probes (P, PROBES): A⁻¹u of random u_i with standard
    deviation ε √A_ii, and sizes (b,): ‖√diag(A) ∘ x‖, as entries of A that are off by ε√(A_ii A_jj) at most move Ax by
    their product.
    """

    left: Tensor
    probes: Tensor
    sizes: Tensor

    @classmethod
    def of(cls, solve: Callable[[Tensor], Tensor], fault: Tensor, x: Tensor, diagonal: Tensor) -> Rounding:
        """solve: A⁻¹ by the factorisation. fault (P, b): rhs − Ax. diagonal (P,): of A."""
        root = diagonal.abs().sqrt()
        return cls(solve(fault), solve(torch.finfo(x.dtype).eps * root[:, None] * random_columns(len(x), x)),
                   (root[:, None] * x).norm(dim=0))


def random_columns(size: int, like: Tensor) -> Tensor:
    """Standard normal numbers (size, PROBES), always the same."""
    return torch.randn(size, PROBES, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).to(like)


@dataclass(frozen=True)
class Solution:
    """x ≈ (C + δI)⁻¹ rhs, shape (P, b), with the relative residual of every column.

    residual (b,): ‖(C + δI)x − rhs‖ / ‖rhs‖. converged (b,): whether the solver met its own
    tolerance, or, for a method without one, whether the result is finite. info: its settings and counts. rounding: of a
    factorisation, what rounding did to x; None of an approximation.
    """

    x: Tensor
    residual: Tensor
    converged: Tensor
    info: dict[str, float] = field(default_factory=dict)
    rounding: Rounding | None = None

    @property
    def summary(self) -> dict[str, float]:
        """The info, with what the residual is: relative, so that zero scores have 1; a gradient norm is not."""
        return {**self.info, RELATIVE: 1.0}


class OffersCurvature(Protocol):
    """A problem, or a kind of problem, that says which matrices of its objective solvers can be given."""

    @property
    def curvatures(self) -> tuple[type[Operator], ...]:
        """In the order in which they are taken."""


class CurvedProblem(Curved, OffersCurvature, Protocol):
    """A problem with its matrices."""


@dataclass(frozen=True)
class InverseHessian:
    """A named solver: solve(operator, rhs (P, b)) -> Solution.

    needs: the operators that it can do with; a problem says which it has. exact: whether x is right to rounding.
    products: what a column costs, in products with the curvature of all n examples, its residual included. factored:
    whether one whose residual is not measured costs next to nothing. iterates: whether it multiplies by the operator
    again and again, in place of a form of its own. known: what the literature calls influence functions by it, the
    source, and what the paper's tables call them; empty where it has no name.
    unmeasured: the same without the residual, where that takes passes of its own. settings: the keyword arguments of
    `solve` that can be chosen; None where there are none.
    """

    name: str
    title: str
    source: str
    solve: Callable[..., Solution]
    needs: tuple[type[Operator], ...]
    exact: bool = False
    factored: bool = False
    iterates: bool = False
    known: tuple[str, ...] = ()
    unmeasured: Callable[..., Solution] | None = None
    settings: type[Settings] | None = None
    products: float = field(kw_only=True)

    def fits(self, problem: OffersCurvature) -> bool:
        """Whether a problem, or a kind of problem, has an operator that it can do with."""
        return any(operator in self.needs for operator in problem.curvatures)

    def configured(self, settings: Settings) -> InverseHessian:
        """The same solver with other settings than its defaults."""
        given = settings.model_dump()
        return replace(self, solve=partial(self.solve, **given), products=self.products * settings.effort,
                       unmeasured=self.unmeasured and partial(self.unmeasured, **given))

    def solution(self, operator: Operator, rhs: Tensor) -> Tensor:
        """x (P, b) alone, by what it takes and no more."""
        return (self.unmeasured or self.solve)(operator, rhs).x

    def operator(self, problem: CurvedProblem, damping: float, options: Options | None = None) -> Operator:
        """What it solves with: of the operators that the problem has, the first that it can do with."""
        kind = next(operator for operator in problem.curvatures if operator in self.needs)
        return kind(problem, damping, options)


def measured(operator: Operator, x: Tensor, rhs: Tensor, info: dict[str, float], *, tolerance: float | None = None,
             columns: int | None = None, negative: bool | None = None, passes: int | None = None) -> Solution:
    """A `Solution` with ‖Ax − rhs‖/‖rhs‖ of every column of x (P, b); 0 for zero solved by zero.

    columns: so many columns only, evenly spaced, NaN for the others: a measured column costs a product with all n
    examples, which the cheap solvers' whole solution may not. Where it is left out, all for a solver with a tolerance,
    as many as the operator says (`measured`) for another. converged: residual ≤ tolerance, or x finite where there
    is no tolerance. negative: whether the solver itself met negative curvature; None where it does not look. Where
    the objective is not convex, the Hessian plus damping is reported as not positive definite, in
    info["negative_curvature"] and by one warning, on proof only: what the solver met, xᵀAx < 0 for a column, or,
    where the solver does not look, a Ritz value of a few Lanczos steps below −damping, in so many `passes` at most. A
    Gauss–Newton matrix says nothing of the Hessian, whose products would take longer than most of its solvers: there
    nobody looks.
    """
    if columns is None and tolerance is None:
        columns = operator.measured
    picked = _picked(x.shape[1], columns, x.device)
    residual, indefinite = x.new_full((x.shape[1],), torch.nan), bool(negative)
    for span in column_blocks(operator, len(picked), 4):
        chosen = slice(span.start, span.stop) if len(picked) == x.shape[1] else picked[span]
        block, target = x[:, chosen], rhs[:, chosen]
        image = operator @ block
        indefinite |= operator.proves_indefinite(block, image)
        residual[chosen] = (image - target).norm(dim=0) / target.norm(dim=0).clamp_min(torch.finfo(x.dtype).tiny)
    converged = x.isfinite().all(0) if tolerance is None else residual <= tolerance
    info = {**info, **operator.facts}
    if not operator.convex:
        passes = 0 if negative is not None or operator.gauss_newton else passes
        info = _definiteness(operator, info, indefinite, passes)
    return Solution(x, residual, converged, info)


def _definiteness(operator: Operator, info: dict[str, float], indefinite: bool, passes: int | None
                  ) -> dict[str, float]:
    """`info` with what is known of negative curvature, and one warning where there is some."""
    damping = operator.damping
    if not indefinite and passes != 0:
        info = {**info, "smallest_eigenvalue": operator.smallest_eigenvalue(passes)}
        indefinite = info["smallest_eigenvalue"] + damping < 0
    if indefinite:
        smallest = info.get("smallest_eigenvalue", 0.0)
        remedy = f"a damping above {-smallest:.2g}" if smallest + damping < 0 else "a larger damping"
        other = "" if operator.gauss_newton else (", or a solver of the Gauss–Newton matrix, which has no negative "
                                                  "curvature")
        warnings.warn(f"The Hessian plus damping {damping:g} is not positive definite, so the local response is not "
                      f"that of a minimum and scores may have the wrong sign; use {remedy}{other}.", stacklevel=4)
    return {**info, "negative_curvature": float(indefinite)}


def column_blocks(operator: Operator, count: int, matrices: int) -> Iterator[slice]:
    """Slices of `count` columns, so narrow that `matrices` matrices (P, width) fit in half of the budget."""
    each = matrices * operator.size * torch.finfo(operator.dtype).bits // 8
    width = max(1, operator.options.budget // 2 // each)
    for start in range(0, count, width):
        yield slice(start, min(start + width, count))


def _picked(count: int, columns: int | None, device: torch.device) -> Tensor:
    if columns is None or columns >= count:
        return torch.arange(count, device=device)
    return torch.linspace(0, count - 1, columns, dtype=torch.float64).round().long().to(device)
