"""What of a training decides how smoothly its end moves with the weights of its examples: as it is, and what is worth
trying for a smoother one, which only the changed training can tell.

Large steps on few examples carry a small change far, and a piecewise linear part jumps in its derivative wherever it
changes its piece (Engstrom et al. 2025 choose among such settings to be able to differentiate a training at all).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from engine.basics.values import capital

KINKS: dict[str, tuple[tuple[type[nn.Module], ...], str]] = {
    "activations with a kink": ((nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Hardtanh, nn.Hardswish,
                                 nn.Hardsigmoid, nn.Softshrink, nn.Threshold), "GELU for ReLU"),
    "max-pooling": ((nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AdaptiveMaxPool2d), "average for max-pooling"),
}
"""Name -> layers, and what would be smooth in their place. Only layers that are modules are seen."""


@dataclass(frozen=True)
class Knob:
    """A setting, as it is `here`, and what may make the training `smoother`; empty where nothing is known."""

    name: str
    here: str
    smoother: str = ""


def advice(knobs: Sequence[Knob]) -> str:
    """One sentence on what may make a training smoother; empty where no knob is left."""
    *others, last = [knob.smoother for knob in knobs if knob.smoother] or [""]
    said = f"{', '.join(others)} and {last}" if others else last
    return f"{capital(said)} may make this training smoother; try it, and check again." if said else ""


def of_parts(module: nn.Module) -> list[Knob]:
    """Of the layers of a network: those with kinks, and dropout, whose masks a replay repeats."""
    parts = list(module.modules())
    knobs = []
    for name, (layers, smoother) in KINKS.items():
        count = sum(isinstance(part, layers) for part in parts)
        knobs.append(Knob(name, _layers(count), smoother if count else ""))
    dropped = [part.p for part in parts if isinstance(part, nn.Dropout) and part.p]
    return [*knobs, Knob("dropout", _layers(len(dropped)), "less dropout" if dropped else "")]


def _layers(count: int) -> str:
    return "none" if not count else f"{count} layer{'s' if count > 1 else ''}"
