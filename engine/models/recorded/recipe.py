"""A recorded training as a recipe: its own start, batches, rates and masks of dropout."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import torch
from pydantic import PrivateAttr
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.noted import note
from engine.basics.values import short
from engine.models.knobs import Knob
from engine.models.optimizers import KINDS, OptimizerGroup, build_together, penalty, rule_of, unfit
from engine.models.recipe import MicroBatch, TrainingRecipe
from engine.models.recorded.folder import Recording
from engine.models.recorded.stretches import ROUNDING, stretches
from engine.models.rules import Rule
from engine.models.training import Training

SEED = 0
"""The seed under which a recorded run is requested: it has no other."""
FAR = 1e-2
"""How far a replayed run may end from the recorded one, as a fraction of the way that it went, to count as the
same."""
CHECKED = "`python -m engine recording` says more"


class RecordedRecipe(TrainingRecipe):
    """How a recorded training went, for the data that it was recorded on, or others.

    recording: its digest. rows: of every step, the rows of the data; known only where the data hold all its examples.
    Whatever decides a step raises `InvalidInput` where the recording cannot be replayed.
    """

    recording: str
    steps: int
    optimizer_kind: str
    options: dict[str, Any]
    clip: float | None
    groups: tuple[OptimizerGroup, ...] = ()
    accumulation: int | None = None
    unwritten: ClassVar = (*TrainingRecipe.unwritten, "groups", "accumulation")
    _run: Recording = PrivateAttr()
    _rows: tuple[Tensor, ...] = PrivateAttr()
    _fault: str = PrivateAttr()
    _faulty: int = PrivateAttr()

    @classmethod
    def of(cls, run: Recording, contents: Sequence[bytes]) -> RecordedRecipe:
        """For data whose rows hold `contents`, as `engine.models.recorded.examples` reads them."""
        facts, rates = run.facts, run.batches.rates
        recipe = cls(epochs=1, learning_rate=float(rates.max()) if len(rates) else 0.0, recording=run.digest,
                     steps=facts.steps, optimizer_kind=facts.optimizer, options=facts.options, clip=facts.clip,
                     groups=run.groups, accumulation=facts.accumulation)
        recipe._run = run
        recipe._rows, recipe._fault, recipe._faulty = _placed(run, contents)
        return recipe

    @property
    def run(self) -> Recording:
        """What was recorded."""
        return self._run

    @property
    def faulty_step(self) -> int:
        """The first step that cannot be replayed; 0 where all can, as far as is known."""
        return self._faulty

    @property
    def fault(self) -> str:
        """Why it cannot be replayed on these data, as a sentence; empty where nothing is known against it."""
        return self._fault

    @property
    def examples_a_batch(self) -> int:
        return self._run.largest

    def per_epoch(self, n: int) -> int:
        """The whole run counts as one epoch."""
        return self.steps

    def batches(self, n: int, seed: int) -> Iterator[tuple[Tensor, ...]]:
        self._check(seed)
        yield self._rows

    def micro_batches(self, rows: Tensor, seed: int, epoch: int, number: int) -> tuple[MicroBatch, ...]:
        batches = self._run.batches
        sizes, drawn = zip(*batches.of_step[number], strict=True)
        weight = None if self.accumulation is None else 1 / self.accumulation
        fixed = self.randomness(seed, epoch, number)
        return tuple(MicroBatch(own, fixed if row < 0 else batches.generators[row].clone(), weight)
                     for own, row in zip(rows.split(sizes), drawn, strict=True))

    @property
    def stacks(self) -> bool:
        self._check(SEED)
        return not self.groups and not KINDS[self.optimizer_kind].of_matrix and self.accumulation is None

    def layout(self, module: nn.Module, x: Tensor) -> Callable[[Tensor], Tensor]:
        """As they are."""
        return lambda batch: batch

    def free(self, module: nn.Module) -> None:
        for name, parameter in module.named_parameters():
            parameter.requires_grad_(name in self._run.trained)

    def build_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        self._check(SEED)
        return build_together(self._groups, dict(zip(self._run.trained, parameters, strict=True)))

    @property
    def rule(self) -> Rule:
        self._check(SEED)
        kind, clip = KINDS[self.optimizer_kind], math.inf if self.clip is None else self.clip
        if not self.groups and not kind.of_matrix and (kind.clips or self.clip is None):
            return kind.rule(self.options, clip)
        state = self._run.state(0)
        return rule_of(self._groups, {name: state[name].shape for name in self._run.trained}, clip)

    @property
    def _groups(self) -> tuple[OptimizerGroup, ...]:
        whole = OptimizerGroup(optimizer=self.optimizer_kind, options=self.options, trained=self._run.trained)
        return self.groups or (whole,)

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"moments"} if self._run.facts.adam else ())

    @property
    def knobs(self) -> list[Knob]:
        knobs = super().knobs
        if "eps" in self.options:
            knobs.append(Knob("Adam's ε", short(self.options["eps"]), "a larger ε of Adam"))
        return knobs

    @property
    def penalty(self) -> dict[str, float]:
        """λ of the penalty that the recorded steps descended by, by the name of the parameter."""
        return {name: penalty(group.optimizer, group.options) for group in self._groups for name in group.trained}

    def limit(self, parameters: Sequence[nn.Parameter]) -> None:
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(parameters, self.clip)

    @property
    def selection(self) -> str:
        return f"^({'|'.join(re.escape(name) for name in self._run.trained)})$"

    def rate_at(self, step: int, per_epoch: int) -> float:
        return float(self._run.batches.rates[step])

    def rates_at(self, step: int, per_epoch: int) -> tuple[float, ...]:
        rates = self._run.batches.group_rates
        return super().rates_at(step, per_epoch) if rates is None else tuple(rates[step].tolist())

    def checkpoint_steps(self, per_epoch: int) -> tuple[int, ...]:
        return tuple(step - 1 for step in self._run.facts.checkpoints[1:]) if self.checkpoints else ()

    def checkpoint_rates(self, per_epoch: int) -> tuple[float, ...]:
        return tuple(self._run.weight(number) for number in range(1, len(self._run.facts.checkpoints))
                     ) if self.checkpoints else ()

    @property
    def knows_its_end(self) -> bool:
        return self._run.facts.finished

    def verify(self, module: nn.Module, training: Training, check: Callable[[], None] = lambda: None) -> None:
        """Raises `InvalidInput` where the replayed run ends far from where the recorded one ended, although
        rounding alone does not lead it there: the stretches between its checkpoints, in the precision of the recording,
        differ by more."""
        if not self.knows_its_end or (off := self._distance(module)) <= FAR:
            return
        worst = max(stretch.off for stretch in stretches(training, self._run, check, lambda fraction: None))
        if not worst < ROUNDING:
            said = [f"Replayed, this recorded run ends {off:.2g} of its path length away from where it ended, so it is "
                    f"a different run; {CHECKED}.", *self._run.conditions(training.device)]
            raise InvalidInput(" ".join(said))
        note(f"a recorded run that ends {off:.2g} of its path length from the recorded end in "
             f"{str(training.precision)[6:]}, by rounding alone: every segment between its checkpoints replays within "
             f"{worst:.1g} of its length")

    def _distance(self, module: nn.Module) -> float:
        """How far it is from the recorded end, as a fraction of the way there."""
        total, off = 0.0, 0.0
        start, end = self._run.state(0), self._run.state(self._run.facts.checkpoints[-1])
        own = dict(module.named_parameters())
        for name in self._run.trained:
            total += float((end[name] - start[name]).double().square().sum())
            off += float((end[name] - own[name].detach().cpu()).double().square().sum())
        return (off / total) ** 0.5 if total else off

    @property
    def sentence(self) -> str:
        return self._run.facts.sentence

    def _check(self, seed: int) -> None:
        if self._fault:
            raise InvalidInput(self._fault)
        if seed != SEED:
            raise InvalidInput("A recording holds one run with one seed; choose one seed, starting at 0.")


def _placed(run: Recording, contents: Sequence[bytes]) -> tuple[tuple[Tensor, ...], str, int]:
    """The rows of every step; or why they cannot be had, and from which step on. Of rows that hold the same, each step
    takes the next."""
    facts = run.facts
    if facts.reasons:
        first = min(facts.reasons, key=lambda reason: reason.step)
        return (), (f"This recorded run cannot be replayed from step {first.step:,} on, because {first.why}; its "
                    "checkpoints still serve the process `trajectory`."), first.step
    for kind, options in [(facts.optimizer, facts.options), *((own.optimizer, own.options) for own in facts.groups)]:
        if why := unfit(kind, options):
            return (), f"This recorded run cannot be replayed, because {why}.", 1
    if not facts.steps:
        return (), "This recording holds no steps; close the recorder after the training.", 1
    rows_of: dict[bytes, list[int]] = {}
    for row, content in enumerate(contents):
        rows_of.setdefault(content, []).append(row)
    known, taken = run.batches.known, [0] * len(run.batches.contents)
    rows: list[Tensor] = []
    for step, examples in enumerate(run.batches.of_steps(), 1):
        own = []
        for example in examples.tolist():
            held = rows_of.get(known[example])
            if held is None:
                return (), _unknown(step, facts.steps, len(set(known) & set(rows_of)), len(known)), step
            own.append(held[taken[example] % len(held)])
            taken[example] += 1
        rows.append(torch.tensor(own, dtype=torch.long))
    return tuple(rows), "", 0


def _unknown(step: int, steps: int, there: int, known: int) -> str:
    return (f"This recorded run cannot be replayed from step {step:,} of {steps:,} on, because that step read an "
            f"example that is not in the data given, which contain {there:,} of its {known:,} different ones: the data "
            "differ or are scaled differently, or examples were altered at random before each step (augmentation); "
            "give all examples as the model read them. Its checkpoints still serve the process `trajectory`.")
