r"""Fine-tuning on records, with checkpoints on disk that hold the optimizer's state and from which it goes on.

The loss of a batch is the mean over its records of the mean token loss of the response, so that what a record adds
to a step is the gradient that attribution scores. The learning rate rises linearly and falls as a cosine. The loop is
that of every network (`engine.models.training`); problems and studies that train a model on the same records by the
same recipe with the same seed share what stands here:

    HOME/language/runs/DIGEST/step-000020/state.safetensors   `NAME.a`, `NAME.b`, with `m|…` and `v|…` of AdamW
    HOME/language/runs/DIGEST/step-000020/facts.json          step; since the one before: learning rates, mean loss,
                                                              seconds
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from engine.basics.errors import StoreError
from engine.basics.files import disk_errors
from engine.basics.folders import home_folder
from engine.basics.noted import note
from engine.models.causal import kept, lora
from engine.models.causal.recipe import FIRST, SECOND, STEPS, FineTuning
from engine.models.pauses import Keeper, Reached, State
from engine.models.training import Training, replay

STATE, FACTS = "state.safetensors", "facts.json"
TOOK = "training_seconds"
NUMERICS = 3
"""Raised where the same training gives other weights."""


@dataclass(frozen=True)
class Checkpoint:
    """A point of a training. weight: the sum of the learning rates of the steps that it stands for."""

    folder: Path
    step: int
    weight: float
    facts: dict[str, Any]

    @cached_property
    def state(self) -> State:
        try:
            return load_file(self.folder / STATE)
        except Exception as error:  # safetensors raises errors of its own
            training = self.folder.parent.name[:8]
            raise StoreError(f"The checkpoint `{self.folder.name}` cannot be read ({type(error).__name__}); delete its "
                             f"training `{training}`, which the Language models page and `python -m engine caches` "
                             "list, and ask again.") from None

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
    return {"model": dict(model), "records": records, "recipe": recipe.model_dump(mode="json"), "seed": seed,
            "numerics": NUMERICS, "device": device}


def folder_of(digest: str) -> Path:
    """Where the checkpoints of a training lie."""
    return home_folder() / "language" / "runs" / digest[:kept.LENGTH]


def schedule(recipe: FineTuning, n: int) -> tuple[int, list[int]]:
    """(number of steps, the steps after which a checkpoint is kept)."""
    per_epoch = -(-n // recipe.batch)
    return recipe.epochs * per_epoch, [step + 1 for step in recipe.kept_steps(per_epoch)]


def finished(folder: Path, recipe: FineTuning, n: int) -> list[Checkpoint]:
    """The checkpoints of a training on n records; empty where it is not at its end."""
    keep = schedule(recipe, n)[1]
    done = [point for point in checkpoints(folder) if point.step in keep]
    return done if len(done) == len(keep) else []


def finetune(training: Training, recipe: FineTuning, folder: Path, *, told: str = "float32",
             check: Callable[[], None] = lambda: None,
             progress: Callable[[float], None] = lambda share: None) -> list[Checkpoint]:
    """Train a reader of records, and return the checkpoints; a training that stopped goes on.

    told: in which precision its passes run, which is noted for the manifest of the run around it. progress: called with
    the share of the steps that are done, first with that of the steps that were done before. Raises `Diverged` where
    the loss is not finite.
    """
    n = len(training.y)
    note(told)
    if done := finished(folder, recipe, n):
        progress(1.0)
        return done
    total, keep = schedule(recipe, n)
    begun = [point for point in checkpoints(folder) if point.step in keep]
    steps = count(begun[-1].step if begun else 0)

    def look() -> None:
        check()
        progress(next(steps) / total)

    replay(training, check=look, keeping=lambda module, optimizer: _Folder(folder, begun, module, optimizer))
    progress(1.0)
    return checkpoints(folder)


class _Folder(Keeper):
    """Every checkpoint in a folder of its own, written when it is reached."""

    def __init__(self, folder: Path, begun: Sequence[Checkpoint], module: nn.Module, optimizer: torch.optim.Optimizer
                 ) -> None:
        self.folder, self.begun, self.optimizer, self._since = folder, begun, optimizer, time.perf_counter()
        self.moving = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}

    def resume(self, losses: list[float], kept: list[tuple[State, float]], rates: Sequence[float],
               per_epoch: int) -> int:
        if not self.begun:
            return 0
        point = self.begun[-1]
        first, second = point.moments()
        with torch.no_grad():
            for name, parameter in self.moving.items():
                own = lora.short(name)
                parameter.copy_(point.weights[own])
                self.optimizer.state[parameter] = {"step": torch.tensor(float(point.step)),
                                                   "exp_avg": first[own].to(parameter.device),
                                                   "exp_avg_sq": second[own].to(parameter.device)}
        return point.step

    def reached(self, point: Reached) -> bool:
        state: dict[str, Tensor] = {}
        for name in self.moving:
            own = lora.short(name)
            state |= {own: point.state[name], f"m|{own}": point.state[FIRST + name],
                      f"v|{own}": point.state[SECOND + name]}
        _save(self.folder / f"step-{point.step:06d}", state,
              {"step": point.step, "weight": point.rate, "loss": point.loss, "steps": point.steps,
               "seconds": round(time.perf_counter() - self._since, 3)})
        self._since = time.perf_counter()
        return True


def _save(target: Path, state: State, facts: Mapping[str, Any]) -> None:
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with disk_errors(f"checkpoint {facts['step']}"):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            save_file({name: value.contiguous() for name, value in state.items()}, draft / STATE)
            (draft / FACTS).write_text(json.dumps(facts), encoding="utf-8")
            if not target.exists():  # another process may have been as far
                os.rename(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def checkpoints(folder: Path) -> list[Checkpoint]:
    """The whole checkpoints of a training, in order."""
    found = []
    for path in sorted(folder.glob("step-*")):
        with suppress(OSError, ValueError, KeyError):
            facts = json.loads((path / FACTS).read_text(encoding="utf-8"))
            found.append(Checkpoint(path, int(facts["step"]), float(facts["weight"]), facts))
    return found


def seconds_of(points: Sequence[Checkpoint]) -> dict[str, float]:
    """`{"training_seconds": …}` of a whole training for a manifest, whichever run it was made for; empty where a
    checkpoint does not say how long its steps took."""
    took = [point.facts["seconds"] for point in points if "seconds" in point.facts]
    return {TOOK: round(sum(took), 3)} if len(took) == len(points) else {}


def states_of(points: Sequence[Checkpoint], names: Sequence[str]) -> list[tuple[State, float]]:
    """(parameters of a reader by `names`, with the optimizer's moments; learning rate) of checkpoints, as
    `engine.models.training.Trained` holds them."""
    found = []
    for point in points:
        (first, second), weights = point.moments(), point.weights
        state = {name: weights[lora.short(name)] for name in names}
        state |= {FIRST + name: first[lora.short(name)] for name in names}
        state |= {SECOND + name: second[lora.short(name)] for name in names}
        found.append((state | {STEPS: torch.tensor(float(point.step))}, point.weight))
    return found
