"""Trained networks, kept on disk under the digest of what determines them; some come with the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from engine.basics.errors import InvalidInput
from engine.basics.files import make_folder
from engine.basics.folders import shared_folder
from engine.basics.noted import note
from engine.models.checkpoint import read_notes, read_state, save_checkpoint
from engine.models.losses import Loss
from engine.models.recipe import TrainingRecipe
from engine.models.training import state_names, train
from engine.store.sealed import digest_of

SHIPPED = Path(__file__).parents[2] / "assets" / "embedded" / "models"
"""Weights that come with the program, which nothing here writes to."""
FINAL = "final/"
PASSES = "passes"
NOT_SAID = "float32 or bfloat16 (trained by a version that did not say)"


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained module with the state dicts and learning rates of its checkpoints, in the order of training."""

    module: nn.Module
    checkpoints: tuple[tuple[dict[str, Tensor], float], ...]


def weights_file(identity: Mapping[str, Any]) -> Path:
    """Where the weights of a training are kept; `identity` is what determines them."""
    return shared_folder() / "models" / f"{digest_of(identity)}.safetensors"


def is_kept(identity: Mapping[str, Any]) -> bool:
    """Whether the weights of a training are here, from this machine or with the program."""
    return any(path.is_file() for path in _files(weights_file(identity)))


def _files(path: Path) -> tuple[Path, Path]:
    """Where the weights that belong into `path` may lie."""
    return path, SHIPPED / path.name


def trained(identity: Mapping[str, Any], build: Callable[[], nn.Module], x: np.ndarray, y: np.ndarray,
            recipe: TrainingRecipe, seed: int, *, loss: Loss | None = None, device: str = "cpu",
            check: Callable[[], None] = lambda: None, progress: Callable[[float], None] = lambda fraction: None
            ) -> TrainedNetwork:
    """The module of `build` trained in float32 on x (n, …), float32 or whole numbers, and y (n,), or as it was trained
    before. What `build` froze is not kept.

    In which precision passes ran is kept with the weights, and noted for the manifest of the run around it.

    Raises `InvalidInput` for inputs that the model does not take, and for a training that diverges.
    """
    path = weights_file(identity)
    for file in filter(Path.is_file, _files(path)):
        try:
            network = _loaded(build(), read_state(file), recipe.checkpoint_rates(recipe.per_epoch(len(y))))
            note(read_notes(file).get(PASSES) or (NOT_SAID if recipe.mixed else "float32"))
            return network
        except (InvalidInput, RuntimeError):
            path.unlink(missing_ok=True)  # damaged: it is trained anew
    run = train(build, torch.tensor(x), torch.tensor(y), recipe, seed, loss=loss,
                device=device, dtype=torch.float32, check=check, progress=progress, pause=path.with_suffix(".paused"))
    make_folder(path.parent)
    states = {FINAL: run.state_dict, **{_prefix(index): state for index, (state, _) in enumerate(run.checkpoints)}}
    save_checkpoint({prefix + key: value for prefix, state in states.items() for key, value in state.items()}, path,
                    {PASSES: run.passes})
    return TrainedNetwork(run.module, run.checkpoints)


def _prefix(index: int) -> str:
    return f"checkpoint-{index}/"


def _loaded(module: nn.Module, state: dict[str, Tensor], rates: Sequence[float]) -> TrainedNetwork:
    def under(prefix: str) -> dict[str, Tensor]:
        return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}

    names = state_names(module)
    missing, unknown = module.load_state_dict(_complete(under(FINAL)), strict=False)
    if unknown or names & set(missing):
        raise InvalidInput("The stored weights belong to another model; train the model again.")
    return TrainedNetwork(module.eval(), tuple((_complete(under(_prefix(index))), rate)
                                               for index, rate in enumerate(rates)))


def _complete(state: dict[str, Tensor]) -> dict[str, Tensor]:
    if not state:
        raise InvalidInput("The stored weights are incomplete; train the model again.")
    return state
