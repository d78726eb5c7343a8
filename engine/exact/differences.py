r"""Changes of a network's query logits, δf = f(θ + d) − f(θ), with a bound on what rounding did to them.

Of each query the first route that keeps its digits, or the one that is surer:

    subtracted   f(θ + d) − f(θ): off by what rounding moves the logits, however small d is. That is measured: what is
                 left of f(θ + p) − 2 f(θ) + f(θ − p) for small random p, SAFETY times.
    carried      from operation to operation (`engine.gradients.changes`), where these have rules; off by the digits of
                 its own arithmetic, measured as what is left of the way from θ to θ + p and back.
    integrated   ∫₀¹ J(θ + t d) d dt by Simpson's rule, for other networks, exact where f is a polynomial of degree four
                 in t; off by the digits that derivatives lose, measured as J(θ − p)p − 2 J(θ)p + J(θ + p)p, and by
                 twice its distance from the midpoint rule, which an activation that changes its piece on the way shows.

The second and the third are taken where d is so small that the subtraction loses digits, and only where they agree with
it within both errors. A network that jumps at θ, such as one that casts a parameter to whole numbers, is subtracted.

θ and d are in the problem's own precision: float64, unless the user asked for less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from engine.exact.passes import query_logits
from engine.gradients.changes import changed, has_rules
from engine.gradients.directional import logit_derivatives
from engine.gradients.response import RESOLUTION
from engine.problems import ModuleProblem

DRAWS, SAFETY = 3, 4.0
SMALL = 0.6
"""p is θ times random signs times ε to this power, ε the unit of rounding: f bends less over it than it rounds."""
LOST = 0.01 * RESOLUTION
"""Share of δf that rounding may take before it is computed otherwise too; a behavior can be a small part of δf."""
JUMP = 0.1
"""Share of the logits by which they are moved at θ by no rounding, but by a jump, past which no route goes."""
DIGITS = 100.0
"""Units of rounding that a displacement, or a derivative along it, may be off at least."""


@dataclass(frozen=True, eq=False)
class FactualPoint:
    """θ (P,), from where changes are taken, with f(q; θ) (m, C) and how far rounding moves it, noise (m,)."""

    problem: ModuleProblem
    theta: Tensor
    logits: Tensor
    noise: Tensor

    @classmethod
    def at(cls, problem: ModuleProblem, theta: Tensor) -> FactualPoint:
        logits, eps = query_logits(problem, theta), torch.finfo(theta.dtype).eps
        left = [(query_logits(problem, theta + move) - 2.0 * logits + query_logits(problem, theta - move)).abs().amax(1)
                for move in _moves(theta)]
        return cls(problem, theta, logits, SAFETY * _middle(left).clamp_min(eps * logits.abs().amax(1)))

    def change(self, displacement: Tensor) -> tuple[Tensor, Tensor]:
        """(δf (m, C), a bound (m,) on the error of its largest entry) for a displacement d (P,)."""
        change = query_logits(self.problem, self.theta + displacement) - self.logits
        if not displacement.any():
            return change, torch.zeros_like(self.noise)
        size = change.abs().amax(1)
        noise = self.noise + DIGITS * torch.finfo(change.dtype).eps * size
        jumps = self.noise > JUMP * self.logits.abs().amax(1)
        rows = ((self.noise > LOST * size) & ~jumps).nonzero()[:, 0]
        if len(rows):
            finer, error = (self._carried if self._rules else self._integrated)(displacement, rows)
            apart = (finer - change[rows]).abs().amax(1)
            surer = (error < noise[rows]) & (apart <= noise[rows] + error)
            change[rows] = torch.where(surer[:, None], finer, change[rows])
            noise[rows] = torch.where(surer, error, noise[rows])
        return change, noise

    @property
    def _rules(self) -> bool:
        """Whether the network's changes can be carried."""
        return has_rules(self.problem.network, self.theta, self.problem.queries)

    def _carried(self, displacement: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        carried = changed(self.problem.network, self.theta, displacement, self.problem.queries[rows])
        return carried, self.digits[rows] * carried.abs().amax(1)

    def _integrated(self, displacement: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        first, middle, last = (self._slope(self.theta + at * displacement, displacement, self.problem.queries[rows])
                               for at in (0.0, 0.5, 1.0))
        change = (first + 4.0 * middle + last) / 6.0
        return change, 2.0 * (change - middle).abs().amax(1) + self.digits[rows] * change.abs().amax(1)

    @cached_property
    def digits(self) -> Tensor:
        """The relative error of δf at θ, carried or of its derivatives, (m,)."""
        eps, tiny = torch.finfo(self.theta.dtype).eps, torch.finfo(self.theta.dtype).tiny
        lost = self._lost_on_the_way if self._rules else self._lost_by_derivatives
        left = [apart.abs().amax(1) / whole.abs().amax(1).clamp_min(tiny) for apart, whole in
                map(lost, _moves(self.theta))]
        return (SAFETY * _middle(left)).clamp_min(DIGITS * eps)

    def _lost_on_the_way(self, move: Tensor) -> tuple[Tensor, Tensor]:
        """What is left of the way to θ + p and back, and the way."""
        there = self.theta + move
        exact = there - self.theta  # what θ + p came to
        forth, back = (changed(self.problem.network, start, way, self.problem.queries)
                       for start, way in ((self.theta, exact), (there, -exact)))
        return forth + back, forth

    def _lost_by_derivatives(self, move: Tensor) -> tuple[Tensor, Tensor]:
        """J(θ − p)p − 2 J(θ)p + J(θ + p)p, and J(θ)p."""
        before, here, after = (self._slope(self.theta + at * move, move, self.problem.queries)
                               for at in (-1.0, 0.0, 1.0))
        return before - 2.0 * here + after, here

    def _slope(self, theta: Tensor, direction: Tensor, queries: Tensor) -> Tensor:
        """J(θ) d of queries (b, …), (b, C)."""
        return logit_derivatives(self.problem, queries, direction[None], theta)[:, 0]


def _moves(theta: Tensor) -> list[Tensor]:
    """DRAWS random p (P,): the middle of what they leave counts, because one may push an activation over a kink."""
    size, generator = torch.finfo(theta.dtype).eps**SMALL, torch.Generator().manual_seed(0)
    return [size * (2.0 * torch.randint(2, theta.shape, generator=generator).to(theta) - 1.0) * theta
            for _ in range(DRAWS)]


def _middle(left: list[Tensor]) -> Tensor:
    return torch.stack(left).median(0).values


def neighbouring(theta: Tensor, generator: torch.Generator) -> Tensor:
    """Every number replaced by the next floating-point number above or below it."""
    up = torch.randint(2, theta.shape, generator=generator).to(theta.device, torch.bool)
    return torch.nextafter(theta, torch.where(up, torch.inf, -torch.inf).to(theta))
