r"""Limited-memory BFGS with a strong-Wolfe line search (Nocedal & Wright 2006, Algorithms 7.4 and 7.5, Section 3.1).

Where values no longer tell two points apart, slopes still do, so a point is also accepted if its value has risen by
no more than rounding (Hager & Zhang 2005, the approximate Wolfe condition). That is what lets a small intervention,
which lowers the objective by less than its last digit, be followed to its optimum.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

Evaluate = Callable[[Tensor], tuple[float, Tensor]]

DECREASE, CURVATURE = 1e-4, 0.9
TRIALS = 20
"""Points that one line search may try."""
LONGEST = 10.0
"""How much longer the next trial may be than the last one."""
INSIDE = 0.1
"""How far from both ends, as a fraction of the interval, a trial inside it stays."""


@dataclass(frozen=True)
class Minimum:
    """Where a minimisation ended: θ (P,), F(θ), ∇F(θ) (P,), and what it took. saddle: F is known to curve downwards
    there."""

    theta: Tensor
    value: float
    gradient: Tensor
    iterations: int
    evaluations: int
    saddle: bool = False

    @cached_property
    def gradient_norm(self) -> float:
        """‖∇F(θ)‖."""
        return self.gradient.double().norm().item()

    @property
    def finite(self) -> bool:
        return math.isfinite(self.value) and math.isfinite(self.gradient_norm)


@dataclass(frozen=True)
class _Point:
    length: float
    value: float
    slope: float
    gradient: Tensor


def minimise(evaluate: Evaluate, start: Tensor, *, iterations: int, tolerance: float, history: int = 10,
             initial: tuple[float, Tensor] | None = None) -> Minimum:
    """Lower F from `start` (P,) until ‖∇F‖ ≤ tolerance, for at most `iterations` iterations.

    evaluate: θ -> (F(θ), ∇F(θ) (P,)). history: how many pairs of steps and gradient differences are kept.
    initial: F and ∇F at `start`, where they are known. It also ends where a line search finds no strong-Wolfe point,
    because the digits are used up, F has no minimum, or F or ∇F are not finite.
    """
    theta = start
    value, gradient = initial or evaluate(theta)
    evaluations = 0 if initial else 1
    pairs: deque[tuple[Tensor, Tensor, float]] = deque(maxlen=history)
    done = 0
    while done < iterations and not (norm := gradient.norm().item()) <= tolerance and math.isfinite(norm):
        direction = -_inverse_hessian_product(pairs, gradient)
        slope = torch.dot(direction, gradient).item()
        first = 1.0 if pairs else min(1.0, 1.0 / norm)
        noise = rounding(value, theta.dtype)
        point, is_wolfe, tried = _line_search(evaluate, theta, direction, value, slope, first, noise)
        evaluations += tried
        if point.length > 0:
            step, change = point.length * direction, point.gradient - gradient
            theta, value, gradient = theta + step, point.value, point.gradient
        if not is_wolfe:
            break
        curvature = torch.dot(step, change).item()
        if curvature > 1e-12 * step.norm().item() * change.norm().item():
            pairs.append((step, change, curvature))
        done += 1
    return Minimum(theta, value, gradient, done, evaluations)


def rounding(value: float, dtype: torch.dtype) -> float:
    """By how much a value may rise that has not risen: a sum of many losses is worse than its last digit."""
    return torch.finfo(dtype).eps ** 0.75 * abs(value)


def _inverse_hessian_product(pairs: deque[tuple[Tensor, Tensor, float]], gradient: Tensor) -> Tensor:
    """The two-loop recursion: H⁻¹∇F as the pairs (s, y, sᵀy) see it; ∇F where there are none."""
    direction, weights = gradient.clone(), []
    for step, change, curvature in reversed(pairs):
        weights.append(torch.dot(step, direction) / curvature)
        direction -= weights[-1] * change
    if pairs:
        _, change, curvature = pairs[-1]
        direction *= curvature / torch.dot(change, change)
    for (step, change, curvature), weight in zip(pairs, reversed(weights), strict=True):
        direction += (weight - torch.dot(change, direction) / curvature) * step
    return direction


def _line_search(evaluate: Evaluate, theta: Tensor, direction: Tensor, value: float, slope: float, first: float,
                 noise: float) -> tuple[_Point, bool, int]:
    """(a point along θ + t·direction, whether it is a strong-Wolfe point, trials); else the last low one, or t = 0.

    Between `low`, low enough and still falling, and `high`, too high or rising, lies a strong-Wolfe point.
    """
    low, high = _Point(0.0, value, slope, direction), None
    if not slope < 0:
        return low, False, 0
    length = first
    for trial in range(1, TRIALS + 1):
        there, gradient = evaluate(theta + length * direction)
        point = _Point(length, there, torch.dot(direction, gradient).item(), gradient)
        too_high = not there <= value + DECREASE * length * slope + noise
        if not too_high and abs(point.slope) <= -CURVATURE * slope:
            return point, True, trial
        if too_high or not point.slope < 0:
            high = point
            length = _between(low, high, too_high)
        else:
            low, previous = point, low
            length = _beyond(previous, low) if high is None else _between(low, high, high.slope < 0)
    return low, False, TRIALS


def _beyond(previous: _Point, low: _Point) -> float:
    """Where the slope would vanish on a line through both, no more than LONGEST times as far."""
    rise = low.slope - previous.slope
    wanted = low.length - low.slope * (low.length - previous.length) / rise if rise > 0 else math.inf
    return min(max(wanted, 2.0 * low.length), LONGEST * low.length)


def _between(low: _Point, high: _Point, by_value: bool) -> float:
    """The minimum of a parabola through what is known of both ends, kept off them; the middle where there is none."""
    width = high.length - low.length
    bend = 2.0 * (high.value - low.value - low.slope * width) / width if by_value else high.slope - low.slope
    fraction = -low.slope / bend if bend > 0 and math.isfinite(bend) else 0.5
    return low.length + min(max(fraction, INSIDE), 1.0 - INSIDE) * width
