r"""The minimum of a smooth function to many digits, from a start that may lie where it is not convex.

    Newton    ∇²F(θ) s = −∇F(θ) by conjugate gradients, and the longest of s, s/2, s/4, … along which ‖∇F‖ falls and
              F does not rise
    L-BFGS    where conjugate gradients meet negative curvature or no such step is found: some iterations, which
              need first derivatives alone and always lead down, and twice as many the next time

Newton doubles the digits next to a minimum (Nocedal & Wright 2006, Section 7.1); L-BFGS gets there. As F never rises
by more than rounding, what is reached lies below the start.

A small gradient is also found at a saddle. So at the end conjugate gradients solve ∇²F(θ) x = g for a random g: where
they meet negative curvature, the search goes on down that way. Where all curvature that they meet is positive, the
residual along an eigenvector v of negative curvature only grows from vᵀg; so once ‖r‖ ≤ ε‖g‖, vᵀg is as small, which
for P parameters has a probability of about ε √(2P/π).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from engine.exact.lbfgs import Evaluate, Minimum, minimise, rounding
from engine.models.linear_solvers import Linear, conjugate_gradients

FORCING = 1e-3
"""The relative residual of a Newton equation."""
PRODUCTS = 200
"""With the curvature, in one Newton equation: what is left unsolved then, the next one solves."""
PRODUCT = 2
"""Passes over the data that a product costs, in passes of a value with its gradient."""
HALVINGS = 4
FIRST = 50
"""Iterations of the first stretch of L-BFGS."""
PROGRESS = 0.9
"""The factor by which ‖∇F‖ must fall where F does not."""
PROBED = 1e-6
"""ε: the relative residual at which a random equation counts as solved without negative curvature."""
FLAT = 1e-6
"""Curvature less negative than this fraction of the mean curvature is taken as rounding of none."""
ESCAPES, AWAY, SHORTENINGS = 5, 0.1, 30
"""How often a search leaves a saddle, the first length of its step away, relative to θ, and how often it is halved."""


def descend(evaluate: Evaluate, curvature: Callable[[Tensor], Linear], start: Tensor, *, tolerance: float,
            passes: int, precondition: Linear | None = None) -> Minimum:
    """Lower F from `start` (P,) until ‖∇F‖ ≤ tolerance, for about so many passes over the data at most, and as many
    again from every saddle that is left.

    evaluate: θ -> (F(θ), ∇F(θ) (P,)). curvature: θ -> (V (P, r) -> ∇²F(θ)V). precondition: an approximate inverse of
    the curvature, V (P, r) -> (P, r). It also ends where neither route gets on: the digits are used up, F has a kink
    there, or F or ∇F are not finite. `evaluations` of what is returned counts passes, `saddle` says that negative
    curvature was met where it ended.
    """
    here, budget, escapes = Minimum(start, *evaluate(start), 0, 1), passes, ESCAPES
    while True:
        here = _towards(evaluate, curvature, here, tolerance, budget, precondition)
        if not here.finite or here.gradient_norm > tolerance and here.evaluations >= budget:
            return here
        here, direction = _probe(curvature(here.theta), here, precondition)
        lower = None if direction is None or not escapes else _leave(evaluate, here, direction)
        if lower is None:
            return replace(here, saddle=direction is not None)
        here, budget, escapes = lower, lower.evaluations + passes, escapes - 1


def _towards(evaluate: Evaluate, curvature: Callable[[Tensor], Linear], here: Minimum, tolerance: float, passes: int,
             precondition: Linear | None) -> Minimum:
    """To a small gradient, be it of a minimum or of a saddle."""
    iterations = FIRST
    while here.finite and here.gradient_norm > tolerance and here.evaluations < passes:
        there = _newton(evaluate, curvature(here.theta), here, precondition)
        if not _got_on(here, there):
            stretch = minimise(evaluate, there.theta, iterations=iterations, tolerance=tolerance,
                               initial=(there.value, there.gradient))
            there = replace(stretch, iterations=here.iterations + stretch.iterations,
                            evaluations=there.evaluations + stretch.evaluations)
            iterations *= 2
            if not _got_on(here, there):
                return there
        here = there
    return here


def _probe(curvature: Linear, here: Minimum, precondition: Linear | None) -> tuple[Minimum, Tensor | None]:
    """The same point with what was spent, and a direction (P,) of negative curvature, of length 1, if one is met."""
    mean, direction, bend, products = 0.0, here.theta, 0.0, 0

    def watched(vectors: Tensor) -> Tensor:
        nonlocal mean, direction, bend, products
        image = curvature(vectors)
        direction, bend = vectors[:, 0], (torch.sum(vectors * image) / torch.sum(vectors * vectors)).item()
        mean, products = mean or abs(bend), products + 1
        return image

    random = torch.randn(len(here.theta), 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    conjugate_gradients(watched, random.to(here.theta), tolerance=PROBED, limit=PRODUCTS, precondition=precondition)
    here = replace(here, evaluations=here.evaluations + PRODUCT * products)
    return here, direction / direction.norm() if bend < -FLAT * mean else None


def _leave(evaluate: Evaluate, saddle: Minimum, direction: Tensor) -> Minimum | None:
    """The first point of θ ± s·way that lies lower by more than rounding: s is a tenth of ‖θ‖, or of 1, then halved."""
    allowed = saddle.value - rounding(saddle.value, saddle.theta.dtype)
    length = AWAY * max(1.0, saddle.theta.norm().item())
    downhill = -direction if torch.dot(direction, saddle.gradient) > 0 else direction
    for tried in range(SHORTENINGS):
        for number, signed in enumerate((length, -length)):
            theta = saddle.theta + signed * downhill
            value, gradient = evaluate(theta)
            if value < allowed:
                return Minimum(theta, value, gradient, saddle.iterations, saddle.evaluations + 2 * tried + number + 1)
        length /= 2
    return None


def _got_on(here: Minimum, there: Minimum) -> bool:
    return (there.gradient_norm < PROGRESS * here.gradient_norm
            or there.value < here.value - rounding(here.value, here.theta.dtype))


def _newton(evaluate: Evaluate, curvature: Linear, here: Minimum, precondition: Linear | None) -> Minimum:
    """One step; the same point, with what was spent, where there is none."""
    solved = conjugate_gradients(curvature, -here.gradient[:, None], tolerance=FORCING, limit=PRODUCTS,
                                 precondition=precondition)
    taken = int(solved.iterations)
    spent = here.evaluations + PRODUCT * taken
    if taken < PRODUCTS and float(solved.residual) > FORCING:  # negative curvature
        return replace(here, evaluations=spent)
    step, allowed = solved.x[:, 0], here.value + rounding(here.value, here.theta.dtype)
    for halved in range(HALVINGS):
        theta = here.theta + 0.5**halved * step
        value, gradient = evaluate(theta)
        there = Minimum(theta, value, gradient, here.iterations + 1, spent + halved + 1)
        if value <= allowed and there.gradient_norm < here.gradient_norm:
            return there
    return replace(here, evaluations=spent + HALVINGS)
