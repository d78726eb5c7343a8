"""Whether a recorded training replays bit for bit, and if not, from which step on and why.

From every checkpoint the steps to the next are replayed with the recorded weights and optimizer state, and the bits
of the weights are compared after each: one training in all. Where a stretch differs, how far it leads astray tells
rounding from another step, and the whole run is replayed from its start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.models.recorded.folder import Recording
from engine.models.recorded.recipe import RecordedRecipe
from engine.models.recorded.stretches import ROUNDING, stretch, stretches
from engine.models.training import Training


@dataclass(frozen=True)
class Checked:
    """step: the first one that differs; None where none does. stretches: how many lie between checkpoints, and
    `alike`, how many of them replay bit for bit. off: how far the first other one ends from the recorded
    one, as a fraction of its length; end: the same of the whole run. causes: as far as they can be known."""

    step: int | None
    steps: int
    stretches: int = 0
    alike: int = 0
    off: float = 0.0
    end: float = 0.0
    causes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        return self.step is None

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if self.exact:
            return (f"This recording replays bit for bit: all {self.steps:,} steps, replayed from the data given, "
                    "lead to the recorded weights and states.")
        if not self.stretches:
            return " ".join(self.causes)
        return " ".join([
            f"From step {self.step:,} of {self.steps:,} on, this recording does not replay bit for bit.",
            f"{self.alike} of {self.stretches} segments between checkpoints do; the first that does not ends "
            f"{self.off:.1e} of its path length from the recorded state, the whole run {self.end:.1e}.", *self.causes])


def check(training: Training, look: Callable[[], None] = lambda: None,
          progress: Callable[[float], None] = lambda fraction: None) -> Checked:
    """Of a training by a `RecordedRecipe`. look: called before every step; raises to cancel. Raises `TypeError` for
    another recipe."""
    recipe = training.recipe
    if not isinstance(recipe, RecordedRecipe):
        raise TypeError("only a recorded training can be checked")
    run = recipe.run
    if recipe.fault:
        return Checked(recipe.faulty_step, recipe.steps, causes=(recipe.fault,))
    replayed = stretches(training, run, look, progress)
    other = [stretch for stretch in replayed if stretch.first is not None]
    if not other:
        return Checked(None, recipe.steps, len(replayed), len(replayed))
    whole = stretch(training, run, 0, run.facts.checkpoints[-1], look)
    progress(1.0)
    off = other[0].off
    return Checked(other[0].first, recipe.steps, len(replayed), len(replayed) - len(other), off, whole.off,
                   tuple(_causes(run, training, off, len(other) < len(replayed))))


def _causes(run: Recording, training: Training, off: float, some: bool) -> list[str]:
    known = run.conditions(training.device)
    if off < ROUNDING:
        return [*known, "The difference has the size of rounding errors: kernels that add in varying order, a "
                        "different memory layout of batches, or a loss that sums in a different order would cause "
                        "this."]
    if some:
        return [*known, "Other segments replay, so something happened only there: weights changed outside the "
                        "optimizer, parameters frozen for a while, a reset optimizer state, or a batch other than the "
                        "recorded one."]
    return [*known, "The steps differ from those of the recorded optimizer on the mean cross-entropy of the recorded "
                    "batches: another loss or penalty, clipped or altered gradients (give the recorder its `clip`), "
                    "or randomness not sampled from torch's generator would cause this."]
