r"""Changes of a network's query logits, δf = f(θ + d) − f(θ), with a bound on what rounding did to them.

Two routes, and of each query the one that is surer:

    subtracted   f(θ + d) − f(θ): off by what rounding moves the logits, however small d is. That is measured: the
                 largest move of f when every parameter goes to a neighbouring floating-point number, SAFETY times.
    integrated   ∫₀¹ J(θ + t d) d dt by Simpson's rule, exact where f is a polynomial of degree four in t; off by its
                 last digits and by twice its distance from the midpoint rule, which an activation that changes its
                 piece on the way shows. Taken where d is so small that the subtraction loses digits, and only where
                 it lies within what the subtraction may be off.

θ and d are in the problem's own precision: float64, unless the user asked for less.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.exact.passes import query_logits
from engine.exact.response import RESOLUTION
from engine.gradients.directional import logit_derivatives
from engine.problems import ModuleProblem

DRAWS, SAFETY = 2, 4.0
LOST = 0.01 * RESOLUTION
"""Share of δf that rounding may take before it is integrated as well; a behavior can be a small part of δf."""
DIGITS = 100.0
"""Units of rounding that a displacement, or a derivative along it, may be off."""


@dataclass(frozen=True, eq=False)
class Origin:
    """θ (P,), from where changes are taken, with f(q; θ) (m, C) and how far rounding moves it, noise (m,)."""

    problem: ModuleProblem
    theta: Tensor
    logits: Tensor
    noise: Tensor

    @classmethod
    def at(cls, problem: ModuleProblem, theta: Tensor) -> Origin:
        logits = query_logits(problem, theta)
        return cls(problem, theta, logits, rounding(problem, theta, logits))

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
        first, middle, last = (self._slope(displacement, at) for at in (0.0, 0.5, 1.0))
        found = (first + 4.0 * middle + last) / 6.0
        digits = DIGITS * torch.finfo(found.dtype).eps
        return found, 2.0 * (found - middle).abs().amax(1) + digits * found.abs().amax(1)

    def _slope(self, displacement: Tensor, at: float) -> Tensor:
        """J(θ + t d) d, (m, C)."""
        problem = self.problem
        return logit_derivatives(problem, problem.queries, displacement[None], self.theta + at * displacement)[:, 0]


def rounding(problem: ModuleProblem, theta: Tensor, logits: Tensor) -> Tensor:
    """How far rounding may move the logits (m, C) of every query at θ (P,): (m,)."""
    generator = torch.Generator().manual_seed(0)
    least = torch.finfo(theta.dtype).eps * logits.abs().amax(1)
    moves = [(query_logits(problem, neighbouring(theta, generator)) - logits).abs().amax(1) for _ in range(DRAWS)]
    return SAFETY * torch.stack([least, *moves]).amax(0)


def neighbouring(theta: Tensor, generator: torch.Generator) -> Tensor:
    """Every number replaced by the next floating-point number above or below it."""
    up = torch.randint(2, theta.shape, generator=generator).to(theta.device, torch.bool)
    return torch.nextafter(theta, torch.where(up, torch.inf, -torch.inf).to(theta))
