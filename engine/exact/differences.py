r"""Changes of a network's query logits, δf = f(θ + d) − f(θ), with a bound on what rounding did to them.

Two routes, and of each query the one that is surer:

    subtracted   f(θ + d) − f(θ): off by what rounding moves the logits, however small d is. That is measured: what is
                 left of f(θ + p) − 2 f(θ) + f(θ − p) for small random p, SAFETY times.
    integrated   ∫₀¹ J(θ + t d) d dt by Simpson's rule, exact where f is a polynomial of degree four in t; off by the
                 digits that derivatives lose, measured as J(θ − p)p − 2 J(θ)p + J(θ + p)p, and by twice its distance
                 from the midpoint rule, which an activation that changes its piece on the way shows. Taken where d is
                 so small that the subtraction loses digits, and only where both agree within their errors.

θ and d are in the problem's own precision: float64, unless the user asked for less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from engine.exact.passes import query_logits
from engine.exact.response import RESOLUTION
from engine.gradients.directional import logit_derivatives
from engine.problems import ModuleProblem

DRAWS, SAFETY = 3, 4.0
SMALL = 0.6
"""p is θ times random signs times ε to this power, ε the unit of rounding: f bends less over it than it rounds."""
LOST = 0.01 * RESOLUTION
"""Share of δf that rounding may take before it is integrated as well; a behavior can be a small part of δf."""
DIGITS = 100.0
"""Units of rounding that a displacement, or a derivative along it, may be off at least."""


@dataclass(frozen=True, eq=False)
class Origin:
    """θ (P,), from where changes are taken, with f(q; θ) (m, C) and how far rounding moves it, noise (m,)."""

    problem: ModuleProblem
    theta: Tensor
    logits: Tensor
    noise: Tensor

    @classmethod
    def at(cls, problem: ModuleProblem, theta: Tensor) -> Origin:
        logits, eps = query_logits(problem, theta), torch.finfo(theta.dtype).eps
        left = [(query_logits(problem, theta + move) - 2.0 * logits + query_logits(problem, theta - move)).abs().amax(1)
                for move in _moves(theta)]
        return cls(problem, theta, logits, SAFETY * _middle(left).clamp_min(eps * logits.abs().amax(1)))

    def change(self, displacement: Tensor) -> tuple[Tensor, Tensor]:
        """(δf (m, C), a bound (m,) on the error of its largest entry) for a displacement d (P,)."""
        found = query_logits(self.problem, self.theta + displacement) - self.logits
        if not displacement.any():
            return found, torch.zeros_like(self.noise)
        size = found.abs().amax(1)
        noise = self.noise + DIGITS * torch.finfo(found.dtype).eps * size
        if not (self.noise > LOST * size).any():
            return found, noise
        integrated, error = self._integrated(displacement)
        apart = (integrated - found).abs().amax(1)
        surer = (error < noise) & (apart <= noise + error)
        return torch.where(surer[:, None], integrated, found), torch.where(surer, error, noise)

    def _integrated(self, displacement: Tensor) -> tuple[Tensor, Tensor]:
        first, middle, last = (slope(self.problem, self.theta + at * displacement, displacement)
                               for at in (0.0, 0.5, 1.0))
        found = (first + 4.0 * middle + last) / 6.0
        return found, 2.0 * (found - middle).abs().amax(1) + self.digits * found.abs().amax(1)

    @cached_property
    def digits(self) -> Tensor:
        """The relative error of derivatives of f at θ, (m,)."""
        eps, tiny = torch.finfo(self.theta.dtype).eps, torch.finfo(self.theta.dtype).tiny
        left = []
        for move in _moves(self.theta):
            before, here, after = (slope(self.problem, self.theta + at * move, move) for at in (-1.0, 0.0, 1.0))
            left.append((before - 2.0 * here + after).abs().amax(1) / here.abs().amax(1).clamp_min(tiny))
        return (SAFETY * _middle(left)).clamp_min(DIGITS * eps)


def slope(problem: ModuleProblem, theta: Tensor, direction: Tensor) -> Tensor:
    """J(θ) d of every query, (m, C)."""
    return logit_derivatives(problem, problem.queries, direction[None], theta)[:, 0]


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
