"""How a computation is to run: its memory, its seed, and how it is asked to stop and tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

Precision = Literal["auto", "float32", "float64"]


def _nothing(*_args: object) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to compute.

    Args:
        budget: memory to keep within, in bytes.
        tolerance: the gradient norm (float64) at which a re-optimisation counts as converged.
        seed: of sampled solvers.
        precision: `auto` takes finite responses, which are differences of nearly equal numbers, in float64 and
            gradients in the network's own precision; `float64` takes everything in float64, `float32` finite responses
            as gradients are.
        check: called often; raises to cancel.
        progress: called with the fraction done, in [0, 1].

    >>> import whichfluence as wf
    >>> wf.Options(precision="float64").tolerance
    1e-10
    """

    budget: int = 4 << 30
    tolerance: float = 1e-10
    seed: int = 0
    precision: Precision = "auto"
    check: Callable[[], None] = _nothing
    progress: Callable[[float], None] = _nothing

    def stage(self, index: int, count: int) -> Options:
        """The same for stage `index` of `count` equal ones, whose progress is that much of the whole."""
        return self.between(index / count, (index + 1) / count)

    def between(self, start: float, end: float) -> Options:
        """The same for the part of the whole from `start` to `end`."""
        return replace(self, progress=lambda done: self.progress(start + (end - start) * done))

    @property
    def beside_exact(self) -> Options:
        """The same for approximations that are held against exact answers: everything in float64, as those are, unless
        float32 is asked for. Where an approximation is good, what float32 rounds is as large as its error."""
        return self if self.precision == "float32" else replace(self, precision="float64")
