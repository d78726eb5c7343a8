r"""Fine-tuning of the adapters by AdamW, with checkpoints that hold the optimizer's state and from which it goes on.

The loss of a batch is the mean over its records of the mean token loss of the response, so that what a record adds
to a step is the gradient that attribution scores. The learning rate rises linearly and falls as a cosine.

    FOLDER/step-000020/state.safetensors   `NAME.a`, `NAME.b`, with `m|…` and `v|…` of AdamW
    FOLDER/step-000020/facts.json          step, learning rates and mean loss since the checkpoint before
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import disk_errors
from engine.models.causal import lora, passes
from engine.models.causal.encoding import Encoded, Encoder
from engine.models.causal.readouts import response_loss
from engine.models.causal.recipe import FineTuning

STATE, FACTS = "state.safetensors", "facts.json"


@dataclass(frozen=True)
class Checkpoint:
    """A point of a training. weight: the sum of the learning rates of the steps that it stands for."""

    folder: Path
    step: int
    weight: float
    facts: dict[str, Any]

    @cached_property
    def state(self) -> dict[str, Tensor]:
        try:
            return load_file(self.folder / STATE)
        except Exception as error:  # safetensors raises errors of its own
            raise StoreError(f"The checkpoint `{self.folder.name}` cannot be read ({type(error).__name__}); delete the "
                             "folder of the training and repeat it.") from None

    @property
    def weights(self) -> dict[str, Tensor]:
        """The adapters' weights by the names of `lora.trained`."""
        return {name: value for name, value in self.state.items() if "|" not in name}

    def moments(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """AdamW's first and second moments by parameter."""
        return self._moments("m|"), self._moments("v|")

    def _moments(self, kind: str) -> dict[str, Tensor]:
        return {name.removeprefix(kind): value for name, value in self.state.items() if name.startswith(kind)}


def schedule(recipe: FineTuning, n: int) -> tuple[int, list[int]]:
    """(number of steps, the steps after which a checkpoint is kept)."""
    per_epoch = math.ceil(n / recipe.batch)
    return recipe.epochs * per_epoch, [step + 1 for step in recipe.kept_steps(per_epoch)]


def order(recipe: FineTuning, n: int, seed: int) -> list[list[int]]:
    """The rows of every batch."""
    found = []
    for epoch in range(recipe.epochs):
        rows = np.random.default_rng([seed, epoch]).permutation(n).tolist()
        found += [rows[start:start + recipe.batch] for start in range(0, n, recipe.batch)]
    return found


def finetune(model, encoder: Encoder, records: Sequence[Encoded], recipe: FineTuning, seed: int, folder: Path, *,
             check: Callable[[], None] = lambda: None,
             progress: Callable[[float], None] = lambda share: None) -> list[Checkpoint]:
    """Train adapters that `lora.attach` made, and return the checkpoints; a training that stopped goes on.

    Raises `InvalidInput` where the loss is not finite.
    """
    total, keep = schedule(recipe, len(records))
    done = [point for point in checkpoints(folder) if point.step in keep]
    if len(done) == len(keep):
        return done
    parameters = lora.trained(model)
    optimizer = recipe.optimizer(parameters.values())
    start = _resume(model, parameters, optimizer, done[-1]) if done else 0
    told, weight = [], 0.0
    model.train()
    for step, rows in list(enumerate(order(recipe, len(records), seed)))[start:]:
        check()
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate(step, total)
        told.append(_step(model, encoder, [records[row] for row in rows], optimizer, parameters, recipe))
        weight += optimizer.param_groups[0]["lr"]
        if step + 1 in keep:
            _save(folder, step + 1, weight, told, parameters, optimizer)
            told, weight = [], 0.0
        progress((step + 1) / total)
    model.eval()
    return checkpoints(folder)


def _step(model, encoder: Encoder, records, optimizer, parameters, recipe: FineTuning) -> float:
    batch = encoder.batch(records).to(passes.device_of(model))
    logits, _ = passes.forward(model, batch)
    loss = -response_loss(logits, batch).mean()
    if not torch.isfinite(loss):
        raise InvalidInput("The loss is no longer finite; lower the learning rate.")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    recipe.limit(list(parameters.values()))
    optimizer.step()
    return float(loss.detach())


def _resume(model, parameters, optimizer, point: Checkpoint) -> int:
    lora.put(model, point.weights)
    first, second = point.moments()
    for name, parameter in parameters.items():
        optimizer.state[parameter] = {"step": torch.tensor(float(point.step)),
                                      "exp_avg": first[name].to(parameter.device),
                                      "exp_avg_sq": second[name].to(parameter.device)}
    return point.step


def _save(folder: Path, step: int, weight: float, losses: list[float], parameters, optimizer) -> None:
    target = folder / f"step-{step:06d}"
    draft = folder / f".{target.name}.{os.getpid()}"
    state: dict[str, Tensor] = {}
    for name, parameter in parameters.items():
        moments = optimizer.state[parameter]
        state |= {name: parameter.detach(), f"m|{name}": moments["exp_avg"], f"v|{name}": moments["exp_avg_sq"]}
    facts = {"step": step, "weight": weight, "loss": float(np.mean(losses)), "steps": len(losses)}
    try:
        with disk_errors(f"checkpoint {step}"):
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            save_file({name: value.to("cpu", copy=True).contiguous() for name, value in state.items()}, draft / STATE)
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
