"""The folder of a recorded training: what stands in it, and how it is opened.

    recording.json            facts of the run, and the SHA-256 of every other file
    steps.safetensors         of every step: its examples, its rate, the sum of the bits of the weights after it
    step-000100.safetensors   weights and buffers (`module/NAME`) with the optimizer's state (`optimizer/NAME/WHAT`)
    frozen.safetensors        parameters that were not trained, once
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import read_whole
from engine.basics.provenance import versions_of
from engine.basics.values import Count, Sparse, Value, canonical_json
from engine.models.adam import known
from engine.models.checkpoint import read_state
from engine.models.optimizers import OptimizerGroup
from engine.models.pauses import MODULE, State
from engine.models.recorded.adapters import Adapters
from engine.models.recorded.bits import bits_of_frozen
from engine.models.recorded.examples import BYTES

FACTS, STEPS, FROZEN = "recording.json", "steps.safetensors", "frozen.safetensors"
FORMAT = 1
MOST_FACTS = 50_000_000
DTYPES = {"torch.float32": torch.float32, "torch.float64": torch.float64}


class Reason(Value):
    """Why a recording cannot be replayed, from a step (1 for the first) on."""

    step: int
    why: str


class RecordingFacts(Sparse):
    """What `recording.json` says.

    optimizer: its kind. options: of its parameters, one group. clip: the length that gradients are cut to. trained:
    names of the parameters that move. still: the bits of the others as one number, where they are not recorded.
    checkpoints: after how many steps one was written. files: name -> SHA-256. groups: of the parameters, where they
    differ in options or rates; `optimizer` and `options` are then those of the first. accumulation: by what the mean
    loss of each batch was divided; None where a step that adds up several takes the mean over all their examples.
    """

    unwritten: ClassVar = ("groups", "accumulation")
    format: int
    optimizer: str
    options: dict[str, Any]
    clip: float | None
    trained: tuple[str, ...]
    dtype: str
    device: str
    threads: int
    versions: dict[str, str]
    adapters: Adapters | None
    still: int | None
    steps: int
    checkpoints: tuple[int, ...]
    reasons: tuple[Reason, ...]
    finished: bool
    files: dict[str, str]
    groups: tuple[OptimizerGroup, ...] = ()
    accumulation: Count | None = None

    @property
    def kinds(self) -> str:
        """Its optimizers."""
        return " and ".join(dict.fromkeys(group.optimizer for group in self.groups)) or self.optimizer

    @property
    def adam(self) -> bool:
        """Whether `engine.models.adam` has the constants of all its optimizers."""
        return all(known(options) for options in [self.options, *(group.options for group in self.groups)])

    @property
    def sentence(self) -> str:
        """The run in a sentence or two."""
        end = "" if self.finished else " It was stopped before its end."
        why = f" It cannot be replayed, because {self.reasons[0].why}." if self.reasons else ""
        return (f"Trained elsewhere and recorded: {self.steps:,} steps by {self.kinds}, with "
                f"{len(self.checkpoints) - 1:,} checkpoints.{end}{why}")


def file_of(step: int) -> str:
    """The name of the checkpoint after so many steps."""
    return f"step-{step:06d}.safetensors"


@dataclass(frozen=True, eq=False)
class Batches:
    """What every step read. sizes, rates, traces, drawn: (T,), examples (Σ sizes,): rows of contents (E, 16 bytes).

    drawn: the row of `generators` where the random generator stood before the step; −1 where none was read.
    group_rates (T, G): of every group of parameters, where there are several; `rates` are then the largest. Where steps
    add up several batches, counts (T,) is how many, and batches (Σ counts, 2) the size and the `drawn` of each.
    """

    sizes: Tensor
    examples: Tensor
    contents: Tensor
    rates: Tensor
    traces: Tensor
    drawn: Tensor
    generators: Tensor
    group_rates: Tensor | None = None
    counts: Tensor | None = None
    batches: Tensor | None = None

    @cached_property
    def of_step(self) -> list[list[tuple[int, int]]]:
        """(size, `drawn`) of every batch that a step adds up."""
        if self.batches is None or self.counts is None:
            return [[own] for own in zip(self.sizes.tolist(), self.drawn.tolist(), strict=True)]
        return [[(size, drawn) for size, drawn in own.tolist()] for own in self.batches.split(self.counts.tolist())]

    def of_steps(self) -> tuple[Tensor, ...]:
        """The examples of every step, in order."""
        return self.examples.split(self.sizes.tolist())

    @property
    def known(self) -> list[bytes]:
        """What each example held."""
        return [bytes(row) for row in self.contents.numpy()]


@dataclass(frozen=True, eq=False)
class Recording:
    """A recorded training, its small files read and every file checked. under: what stands before every name."""

    folder: Path
    facts: RecordingFacts
    batches: Batches
    under: str = ""

    @property
    def trained(self) -> tuple[str, ...]:
        """The names of the parameters that move."""
        return tuple(self.under + name for name in self.facts.trained)

    @property
    def groups(self) -> tuple[OptimizerGroup, ...]:
        """Of its parameters, where they have rules or rates of their own."""
        return tuple(group.model_copy(update={"trained": tuple(self.under + name for name in group.trained)})
                     for group in self.facts.groups)

    def within(self, under: str) -> Recording:
        """The same, where the recorded model is a part of another that calls its parameters `under` and their name."""
        return Recording(self.folder, self.facts, self.batches, under)

    @cached_property
    def digest(self) -> str:
        """Of the recorded content, not of the path."""
        return hashlib.sha256(canonical_json(self.facts.model_dump(mode="json")).encode()).hexdigest()[:16]

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights. Raises `InvalidInput` for one that problems do not have."""
        if self.facts.dtype not in DTYPES:
            raise InvalidInput(f"This recording holds weights in {self.facts.dtype}; scores need float32 or float64.")
        return DTYPES[self.facts.dtype]

    def conditions(self, device: torch.device) -> list[str]:
        """How this machine differs from the one that recorded, a sentence a difference."""
        facts, here = self.facts, versions_of(*self.facts.versions)
        differences = [f"It was recorded with {name} {version}, and this is {here[name]}."
                       for name, version in facts.versions.items() if here[name] != version]
        if facts.device.split(":")[0] != device.type:
            differences.append(f"It was recorded on `{facts.device}`, and this is `{device.type}`.")
        if facts.threads != torch.get_num_threads():
            differences.append(f"It was recorded with {facts.threads} threads and replayed with "
                               f"{torch.get_num_threads()}, which add in a different order.")
        return differences

    @property
    def largest(self) -> int:
        """Examples of the largest batch."""
        return int(self.batches.sizes.max()) if self.facts.steps else 1

    def state(self, step: int, of: str = MODULE) -> State:
        """Trained weights and buffers after `step` steps (0: before the first), or with `of` the optimizer's state."""
        tensors = read_state(self.folder / file_of(step))
        return {self.under + name.removeprefix(of): value for name, value in tensors.items() if name.startswith(of)}

    @cached_property
    def frozen(self) -> State:
        """Parameters that were not trained; empty where the recorder left them out."""
        tensors = read_state(self.folder / FROZEN) if FROZEN in self.facts.files else {}
        return {self.under + name: value for name, value in tensors.items()}

    def put(self, module: nn.Module, step: int) -> nn.Module:
        """The module with the weights after so many steps. Raises `InvalidInput` where it is another model's."""
        state = {**self.frozen, **self.state(step)}
        own = module.state_dict()
        wrong = sorted(name for name, value in state.items() if name not in own or own[name].shape != value.shape)
        missing = sorted(set(own) - set(state) - self._left_out(module))
        if not wrong and not missing and self.facts.still not in (None, bits_of_frozen(module, set(self.trained))):
            raise InvalidInput("The parameters that were not trained differ from those of the recording, which does "
                               "not store them; start from the same base model, in the same precision.")
        if wrong or missing:
            raise InvalidInput(f"The recording is of a different model (see `{(wrong + missing)[0][:80]}`); name the "
                               "model that was trained, and the shape of its inputs.")
        module.load_state_dict(state, strict=False)
        return module

    def _left_out(self, module: nn.Module) -> set[str]:
        """Frozen parameters, where the recorder was to leave them out."""
        if self.frozen:
            return set()
        return {name for name, _ in module.named_parameters(remove_duplicate=False) if name not in self.trained}

    def builder(self, build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        """() -> the module as it was before the first step."""
        return lambda: self.put(build(), 0)

    def weight(self, number: int) -> float:
        """The sum of the rates of the steps that checkpoint 1, 2, … stands for: those since the one before."""
        before, end = self.facts.checkpoints[number - 1], self.facts.checkpoints[number]
        return float(self.batches.rates[before:end].sum())

    def checkpoints(self) -> list[tuple[State, float]]:
        """(state with the frozen parameters, weight) of all checkpoints but the start, in order."""
        return [({**self.frozen, **self.state(step)}, self.weight(number))
                for number, step in enumerate(self.facts.checkpoints) if number]


def open_recording(folder: Path) -> Recording:
    """A folder that a `Recorder` wrote; every file is checked against its digest, and none can run code.

    Raises `MissingData` where there is none, `InvalidInput` where it is another folder, or damaged.
    """
    if not folder.is_dir():
        raise MissingData(f"There is no folder `{folder}`; give the folder that a `Recorder` wrote.")
    if not (folder / FACTS).is_file():
        raise InvalidInput(f"`{folder.name}` holds no `{FACTS}`; give the folder that a `Recorder` wrote, whose "
                           "training came as far as its first checkpoint.")
    facts = read_facts(folder)
    for name, expected in facts.files.items():
        _check(folder, name, expected)
    if STEPS not in facts.files or {file_of(step) for step in facts.checkpoints} - set(facts.files):
        raise InvalidInput(_damaged(folder, "its list of files is not complete"))
    return Recording(folder, facts, _batches(folder, facts))


def read_facts(folder: Path) -> RecordingFacts:
    """What `recording.json` says; no other file is read. Raises `InvalidInput` where it is damaged."""
    try:
        too_long = _damaged(folder, "its metadata are too long")
        data = json.loads(read_whole(folder / FACTS, "recording", MOST_FACTS, too_long))
    except (ValueError, RecursionError):
        raise InvalidInput(_damaged(folder, f"`{FACTS}` is not JSON")) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidInput(_damaged(folder, f"`{FACTS}` is from another program or version"))
    facts = RecordingFacts.parse(data)
    if not facts.checkpoints or facts.checkpoints[0] != 0 or list(facts.checkpoints) != sorted(set(facts.checkpoints)):
        raise InvalidInput(_damaged(folder, "its checkpoints are not in order"))
    return facts


def _check(folder: Path, name: str, expected: str) -> None:
    path = folder / name
    if Path(name).name != name or not path.is_file():
        raise InvalidInput(_damaged(folder, f"`{name[:60]}` is missing"))
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != expected:
            raise InvalidInput(_damaged(folder, f"`{name}` was altered or truncated"))


def _batches(folder: Path, facts: RecordingFacts) -> Batches:
    tensors: Mapping[str, Tensor] = read_state(folder / STEPS)
    try:
        batches = Batches(**tensors)
    except TypeError:
        raise InvalidInput(_damaged(folder, f"`{STEPS}` does not contain the expected data")) from None
    whole = (batches.sizes, batches.examples, batches.drawn, batches.traces)
    fits = (all(not part.is_floating_point() and part.ndim == 1 for part in whole)
            and all(len(part) == facts.steps for part in (batches.sizes, batches.rates, batches.traces, batches.drawn))
            and int(batches.sizes.sum()) == len(batches.examples) and batches.contents.shape[1:] == (BYTES,)
            and batches.contents.dtype == torch.uint8 and facts.checkpoints[-1] <= facts.steps
            and bool((batches.sizes >= 0).all()) and _within(batches.examples, len(batches.contents), 0)
            and _within(batches.drawn, len(batches.generators), -1) and bool(np.isfinite(batches.rates.numpy()).all())
            and _grouped(facts, batches.group_rates) and _added(batches))
    if not fits:
        raise InvalidInput(_damaged(folder, f"the sizes in `{STEPS}` do not fit together"))
    return batches


def _grouped(facts: RecordingFacts, rates: Tensor | None) -> bool:
    if rates is None or not facts.groups:
        return rates is None and not facts.groups
    names = sorted(name for group in facts.groups for name in group.trained)
    return (rates.shape == (facts.steps, len(facts.groups)) and bool(rates.isfinite().all())
            and names == sorted(facts.trained))


def _added(batches: Batches) -> bool:
    counts, each = batches.counts, batches.batches
    if counts is None or each is None:
        return counts is None and each is None
    whole = all(not part.is_floating_point() for part in (counts, each))
    return (whole and counts.shape == batches.sizes.shape and each.ndim == 2 and each.shape[1] == 2
            and bool((counts >= 1).all()) and int(counts.sum()) == len(each) and bool((each[:, 0] >= 0).all())
            and _within(each[:, 1], len(batches.generators), -1)
            and [sum(size for size, _ in own) for own in batches.of_step] == batches.sizes.tolist())


def _within(indices: Tensor, size: int, least: int) -> bool:
    return not len(indices) or (int(indices.min()) >= least and int(indices.max()) < size)


def _damaged(folder: Path, why: str) -> str:
    return f"The recording `{folder.name}` cannot be used: {why}; record the training again."
