"""When a network counts as re-optimised."""

from __future__ import annotations

FRACTION_OF_FORCE = 1e-6
SMALLEST_TOLERANCE = 1e-15
"""About what rounding in float64 leaves of a gradient."""


def gradient_tolerance(force: float, tolerance: float) -> float:
    """‖∇F_k‖ at which a network counts as re-optimised: a millionth of the force that moves its optimum, and no more
    than `tolerance`.

    A small α moves little, so that the same gradient norm would be a larger share of its score. Where nothing is
    changed (no force), `tolerance` alone.
    """
    return min(tolerance, max(FRACTION_OF_FORCE * force, SMALLEST_TOLERANCE)) if force > 0 else tolerance
