r"""Fine-tuning on records, with checkpoints on disk that hold the optimizer's state and from which it goes on.

The loss of a batch is the mean over its records of the mean token loss of the response, so that what a record adds
to a step is the gradient that attribution scores. The learning rate rises linearly and falls as a cosine. The loop is
that of every network (`engine.models.training`); problems and studies that train a model on the same records by the
same recipe with the same seed share what stands here, however many checkpoints each of them reads:

    HOME/language/runs/DIGEST/step-000020/state.safetensors   `NAME.a`, `NAME.b`, with `m|…` and `v|…` of AdamW
    HOME/language/runs/DIGEST/step-000020/facts.json          step; since the start: mean loss, seconds; the device
    HOME/language/runs/DIGEST/paused-000024/…                 the same of a step between two checkpoints

A long training is paused now and then, and goes on from the last step that stands there; at its end its pauses are
gone.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from engine.basics import heap
from engine.basics.errors import InvalidInput, MissingData, StoreError
from engine.basics.files import discard, disk_errors
from engine.basics.folders import home_folder
from engine.basics.noted import note
from engine.basics.provenance import device_name
from engine.models.adam import FIRST, SECOND, STEPS
from engine.models.causal import lora, stored_trainings
from engine.models.causal.recipe import FineTuning
from engine.models.checkpoint import SEAL, checksum, read_state
from engine.models.pauses import Keeper, Reached, State
from engine.models.randomness import own_randomness
from engine.models.training import Training, replay

STATE, FACTS = "state.safetensors", "facts.json"
CHECKPOINT, PAUSED = "step", "paused"
TOOK, WHERE = "training_seconds", "trained_on"
EVERY = 120.0
"""Seconds between two pauses; a shorter training has none."""
SHIPPED = Path(__file__).parents[3] / "assets" / "embedded" / "trainings"
"""Trainings that come with the program, which nothing here writes to."""
NUMERICS = 6
"""Raised where the same training gives other weights, or is stored otherwise on disk."""


@dataclass(frozen=True)
class FineTuneCheckpoint:
    """A point of a training. weight: the sum of the learning rates of the steps that it stands for, which are those
    since the one before. facts: their number, mean loss and seconds, and the device that took them. rate: the learning
    rate of the step that it ends with."""

    folder: Path
    step: int
    weight: float
    facts: dict[str, Any]
    rate: float = 0.0

    @cached_property
    def state(self) -> State:
        try:
            return read_state(self.folder / STATE)
        except (InvalidInput, MissingData):
            with disk_errors(f"the checkpoint `{self.folder.name}`"):
                discard(self.folder, home_folder() / "tmp")
            raise StoreError(f"The checkpoint `{self.folder.name}` of a training was missing or damaged and was "
                             "removed; repeat the request to resume from the previous checkpoint.") from None

    @property
    def weights(self) -> State:
        """The trained weights by the names of `lora.trained`."""
        return {name: value for name, value in self.state.items() if "|" not in name}

    def moments(self) -> tuple[State, State]:
        """AdamW's first and second moments by parameter."""
        return self._moments("m|"), self._moments("v|")

    def _moments(self, kind: str) -> State:
        return {name.removeprefix(kind): value for name, value in self.state.items() if name.startswith(kind)}


def identity(model: Mapping[str, str], records: str, recipe: FineTuning, seed: int, device: str) -> dict[str, Any]:
    """What determines the trained weights. model: as `loading.identity` has it; records: their fingerprint; device: the
    kind of it, with the precision of the model where that does not follow: `cpu` for float32, `cpu bfloat16`."""
    return {"model": dict(model), "records": records,
            "recipe": recipe.model_dump(mode="json", exclude=recipe.stored), "seed": seed, "numerics": NUMERICS,
            "device": device}


def folder_of(digest: str) -> Path:
    """Where the checkpoints of a training lie."""
    return home_folder() / "language" / "runs" / digest[:stored_trainings.LENGTH]


def schedule(recipe: FineTuning, n: int) -> tuple[int, list[int]]:
    """(number of steps, the steps after which there is a checkpoint)."""
    per_epoch = recipe.per_epoch(n)
    ends = [step + 1 for step in recipe.checkpoint_steps(per_epoch)] if recipe.epochs else [0]
    return recipe.epochs * per_epoch, ends


def finished(folder: Path, recipe: FineTuning, n: int) -> list[FineTuneCheckpoint]:
    """The checkpoints of a training on n records, from here or with the program; empty where it is not at its end."""
    wanted = len(schedule(recipe, n)[1])
    return next((done for own in (folder, SHIPPED / folder.name)
                 if len(done := checkpoints(own, recipe, n)) == wanted), [])


def finetune(training: Training, recipe: FineTuning, folder: Path, *, passes: str = "float32",
             check: Callable[[], None] = lambda: None,
             progress: Callable[[float], None] = lambda fraction: None) -> list[FineTuneCheckpoint]:
    """Train a reader of records, and return the checkpoints; a training that stopped goes on.

    passes: in which precision they run, which is noted for the manifest of the run around it. progress: called with
    the fraction of the steps that are done, first with that of the steps that were done before. Raises `Diverged` where
    the loss is not finite.
    """
    n = len(training.y)
    note(passes)
    if done := finished(folder, recipe, n):
        progress(1.0)
        return done
    if not recipe.epochs:
        _keep_start(training, folder)
        return checkpoints(folder, recipe, n)
    total, begun = schedule(recipe, n)[0], _furthest(folder, recipe, n)
    steps, trim = count(begun.step if begun else 0), heap.trimmer()

    def look() -> None:
        check()
        trim()
        progress(next(steps) / total)

    replay(training, check=look, keeping=lambda module, optimizer: _Folder(folder, begun, module, optimizer))
    progress(1.0)
    return checkpoints(folder, recipe, n)


def _keep_start(training: Training, folder: Path) -> None:
    """The model as it is, as a checkpoint after no step."""
    with own_randomness(training.device):
        moving = {lora.short(name): own for name, own in training.start().named_parameters() if own.requires_grad}
    state = {name: own.detach().to("cpu", torch.float32) for name, own in moving.items()}
    none = {f"{kind}|{name}": torch.zeros_like(own) for kind in "mv" for name, own in state.items()}
    _save(_folder_of_step(folder, 0), {**state, **none},
          {"step": 0, "loss": 0.0, "seconds": 0.0, "device": device_name(training.device)})


class _Folder(Keeper):
    """Every checkpoint in a folder of its own, written when it is reached, and so the step where it is paused."""

    def __init__(self, folder: Path, begun: FineTuneCheckpoint | None, module: nn.Module,
                 optimizer: torch.optim.Optimizer) -> None:
        self.folder, self.begun, self.optimizer = folder, begun, optimizer
        self.moving = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
        self.device = device_name(next(iter(self.moving.values())).device)
        self.total = begun.facts["loss"] * begun.step if begun else 0.0
        self.begin = time.perf_counter() - (begun.facts["seconds"] if begun else 0.0)
        self._last = time.monotonic()

    def resume(self, losses: list[float], states: list[tuple[State, float]], rates: Sequence[float],
               per_epoch: int) -> int:
        if self.begun is None:
            return 0
        first, second = self.begun.moments()
        with torch.no_grad():
            for name, parameter in self.moving.items():
                own = lora.short(name)
                parameter.copy_(self.begun.weights[own])
                self.optimizer.state[parameter] = {"step": torch.tensor(float(self.begun.step)),
                                                   "exp_avg": first[own].to(parameter.device),
                                                   "exp_avg_sq": second[own].to(parameter.device)}
        return self.begun.step

    def reached(self, point: Reached) -> bool:
        self.total += point.loss * point.steps
        self._write(_folder_of_step(self.folder, point.step), point, self.total)
        return True

    def due(self) -> bool:
        return time.monotonic() - self._last >= EVERY

    def paused(self, point: Reached) -> None:
        own = _folder_of_step(self.folder, point.step, PAUSED)
        self._write(own, point, self.total + point.loss * point.steps)
        self._discard_pauses(but=own)
        self._last = time.monotonic()

    def forget(self) -> None:
        self._discard_pauses()

    def _discard_pauses(self, but: Path | None = None) -> None:
        for own in self.folder.glob(f"{PAUSED}-*"):
            if own != but:
                discard(own, self.folder)

    def _write(self, target: Path, point: Reached, total: float) -> None:
        state: dict[str, Tensor] = {}
        for name in self.moving:
            own = lora.short(name)
            state |= {own: point.state[name], f"m|{own}": point.state[FIRST + name],
                      f"v|{own}": point.state[SECOND + name]}
        _save(target, state, {"step": point.step, "loss": total / point.step,
                              "seconds": round(time.perf_counter() - self.begin, 3), "device": self.device})


def _save(target: Path, state: State, facts: Mapping[str, Any]) -> None:
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with disk_errors(f"checkpoint {facts['step']}"):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            tensors = {name: value.contiguous() for name, value in state.items()}
            save_file(tensors, draft / STATE, {SEAL: checksum(tensors)})
            (draft / FACTS).write_text(json.dumps(facts), encoding="utf-8")
            if _facts(target) is None:  # damaged
                discard(target, target.parent)
            if not target.exists():  # another process may have been as far
                os.rename(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def checkpoints(folder: Path, recipe: FineTuning, n: int) -> list[FineTuneCheckpoint]:
    """The whole checkpoints that the recipe keeps of a training on n records, in order, up to the first that is not
    there."""
    facts_so_far: list[dict[str, Any]] = [{"step": 0, "loss": 0.0, "seconds": 0.0}]
    for step in schedule(recipe, n)[1]:
        if (facts := _facts(_folder_of_step(folder, step))) is None:
            break
        facts_so_far.append(facts)
    per_epoch = recipe.per_epoch(n)
    rates = recipe.checkpoint_rates(per_epoch) if recipe.epochs else (1.0,)
    return [FineTuneCheckpoint(_folder_of_step(folder, own["step"]), own["step"], weight, _since(last, own),
                               recipe.rate_at(own["step"] - 1, per_epoch) if own["step"] else 1.0)
            for (last, own), weight in zip(pairwise(facts_so_far), rates, strict=False)]


def _furthest(folder: Path, recipe: FineTuning, n: int) -> FineTuneCheckpoint | None:
    """The last step that stands there before the first checkpoint that the recipe lacks, with facts since the start."""
    total, checkpoint_steps = schedule(recipe, n)
    missing = [*checkpoint_steps, total + 1][len(checkpoints(folder, recipe, n))]
    there = [FineTuneCheckpoint(own, facts["step"], 0.0, facts) for kind in (CHECKPOINT, PAUSED)
             for own in folder.glob(f"{kind}-*") if (facts := _facts(own))]
    return max((point for point in there if point.step < missing), key=lambda point: point.step, default=None)


def _facts(folder: Path) -> dict[str, Any] | None:
    """What stands beside a state; nothing where there is none."""
    try:
        return json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _folder_of_step(folder: Path, step: int, kind: str = CHECKPOINT) -> Path:
    return folder / f"{kind}-{step:06d}"


def _since(last: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of the steps between two checkpoints, of which each tells of the steps since the start."""
    steps = own["step"] - last["step"]
    loss = (own["loss"] * own["step"] - last["loss"] * last["step"]) / steps if steps else None
    return {"steps": steps, "loss": loss, "seconds": own["seconds"] - last["seconds"], "device": own["device"]}


def facts_of(points: Sequence[FineTuneCheckpoint]) -> dict[str, Any]:
    """How long a whole training took, whichever run it was made for, and on which device, for a manifest."""
    return {TOOK: round(sum(point.facts["seconds"] for point in points), 3), WHERE: points[-1].facts["device"]}


def states_of(points: Sequence[FineTuneCheckpoint], names: Sequence[str]) -> list[tuple[State, float]]:
    """(parameters of a reader by `names`, with the optimizer's moments; learning rate) of checkpoints, as
    `engine.models.training.Trained` holds them."""
    states = []
    for point in points:
        (first, second), weights = point.moments(), point.weights
        state = {name: weights[lora.short(name)] for name in names}
        state |= {FIRST + name: first[lora.short(name)] for name in names}
        state |= {SECOND + name: second[lora.short(name)] for name in names}
        states.append((state | {STEPS: torch.tensor(float(point.step))}, point.weight))
    return states
