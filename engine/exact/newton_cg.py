r"""The minimum of a smooth function to many digits, from a start that may lie where it is not convex.

    Newton    ∇²F(θ) s = −∇F(θ) by conjugate gradients, and the longest of s, s/2, s/4, … along which ‖∇F‖ falls and
              F does not rise
    L-BFGS    where conjugate gradients meet negative curvature or no such step is found: some iterations, which
              need first derivatives alone and always lead down, and twice as many the next time

Newton doubles the digits next to a minimum (Nocedal & Wright 2006, Section 7.1); L-BFGS gets there. As F never rises
by more than rounding, what is reached lies below the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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


def descend(evaluate: Evaluate, curvature: Callable[[Tensor], Linear], start: Tensor, *, tolerance: float,
            passes: int, precondition: Linear | None = None) -> Minimum:
    """Lower F from `start` (P,) until ‖∇F‖ ≤ tolerance, for about so many passes over the data at most.

    evaluate: θ -> (F(θ), ∇F(θ) (P,)). curvature: θ -> (V (P, r) -> ∇²F(θ)V). precondition: an approximate inverse of
    the curvature, V (P, r) -> (P, r). It also ends where neither route gets on: the digits are used up, F has a kink
    there, or F or ∇F are not finite. `evaluations` of what is returned counts passes.
    """
    value, gradient = evaluate(start)
    here, iterations = Minimum(start, value, gradient, 0, 1), FIRST
    while here.finite and here.gradient_norm > tolerance and here.evaluations < passes:
        found = _newton(evaluate, curvature(here.theta), here, precondition)
        if not _got_on(here, found):
            stretch = minimise(evaluate, found.theta, iterations=iterations, tolerance=tolerance,
                               initial=(found.value, found.gradient))
            found = replace(stretch, iterations=here.iterations + stretch.iterations,
                            evaluations=found.evaluations + stretch.evaluations)
            iterations *= 2
            if not _got_on(here, found):
                return found
        here = found
    return here


def _got_on(here: Minimum, found: Minimum) -> bool:
    return (found.gradient_norm < PROGRESS * here.gradient_norm
            or found.value < here.value - rounding(here.value, here.theta.dtype))


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
        found = Minimum(theta, value, gradient, here.iterations + 1, spent + halved + 1)
        if value <= allowed and found.gradient_norm < here.gradient_norm:
            return found
    return replace(here, evaluations=spent + HALVINGS)
