"""Weights from and to files: safetensors, or a torch state dict read without running any code in it."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import atomic_write
from engine.models.wrapped import by_names

NESTED = ("state_dict", "model", "model_state_dict")
"""Keys under which trainers save the weights beside their own notes."""
MOST_NESTED = 4
"""How deep weights may lie under those keys; a file can hold a dictionary that holds itself."""
OPTIONAL = "num_batches_tracked"
"""Counters of BatchNorm that no prediction depends on; old files lack them."""
NAMED = 3
SEAL = "sha256"
"""The note by which a file vouches for its tensors."""


def load_checkpoint(module: nn.Module, path: Path | str) -> nn.Module:
    """Put the weights in the file `path` into `module`, all of them or none, and return it.

    The file is safetensors or a state dict of `torch.save`, alone or as a trainer keeps it beside its notes; what
    wrappers put into all names (`module.`, `_orig_mod.`, `model.`) is left out. Tensors are
    cast to the module's precision and device, and the module to float64 where the file's are, so that whoever narrows
    them knows what they were. Raises MissingData if there is no such file, InvalidInput if it is
    damaged, holds anything but tensors, or does not fit the module.
    """
    return load_state(module, read_state(path), Path(path).name)


def load_state(module: nn.Module, state: Mapping[str, Tensor], name: str) -> nn.Module:
    """The same of tensors that `read_state` gave of the file `name`. Raises `InvalidInput` if they do not fit."""
    own = module.state_dict()
    state = by_names(state, own)
    _check_fit(own, state, name)
    if any(state[key].dtype == torch.float64 and own[key].dtype == torch.float32 for key in own if key in state):
        own = module.double().state_dict()
    module.load_state_dict({key: state.get(key, value) for key, value in own.items()})
    return module


def save_checkpoint(state: Mapping[str, Tensor], path: Path | str, notes: Mapping[str, str] | None = None) -> Path:
    """Write a state dict as safetensors with its checksum, whole or not at all; `StoreError` on a fault of the disk.
    notes: words that `read_notes` gives back."""
    tensors = {key: value.detach().to("cpu", copy=True).contiguous() for key, value in state.items()}
    return atomic_write(path, save(tensors, {**(notes or {}), SEAL: checksum(tensors)}))


def read_notes(path: Path | str) -> dict[str, str]:
    """What `save_checkpoint` was given to note; raises `InvalidInput` for a damaged file."""
    try:
        with safe_open(path, framework="pt") as opened:
            return dict(opened.metadata() or {})
    except (SafetensorError, OSError, ValueError) as error:
        raise InvalidInput(_damaged(Path(path), error)) from None


def read_state(path: Path | str) -> dict[str, Tensor]:
    """The named tensors of a checkpoint file, on the CPU; raises as `load_checkpoint` does."""
    path = Path(path)
    if not path.is_file():
        raise MissingData(f"There is no checkpoint `{path}`; check the path.")
    content = _read_safetensors(path) if _is_safetensors(path) else _read_torch(path)
    for _ in range(MOST_NESTED):
        inner = _nested(content)
        if inner is None:
            break
        content = content[inner]
    if not _is_state(content):
        raise InvalidInput(f"The checkpoint `{path.name}` is not a dictionary of tensors; save `model.state_dict()`.")
    return {str(key): value for key, value in content.items()}


def _nested(content: Any) -> Any:
    """The key under which the weights lie: a usual one, else the only one of a dictionary of tensors; None if none."""
    if not isinstance(content, Mapping) or _is_state(content):
        return None
    states = [key for key in content if _is_state(content[key])]
    usual = next((key for key in NESTED if isinstance(content.get(key), Mapping)), None)
    return states[0] if usual is None and len(states) == 1 else usual


def _is_state(content: Any) -> bool:
    return isinstance(content, Mapping) and bool(content) and all(isinstance(one, Tensor) for one in content.values())


def _is_safetensors(path: Path) -> bool:
    """By the name, or by what the file starts with: the length of a JSON header, and the header."""
    if path.suffix == ".safetensors":
        return True
    with path.open("rb") as file:
        return file.read(9)[8:] == b"{"


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        with safe_open(path, framework="pt") as opened:
            state = {key: opened.get_tensor(key) for key in opened.keys()}  # noqa: SIM118 - a file, no dictionary
            seal = (opened.metadata() or {}).get(SEAL)
    except (SafetensorError, OSError, ValueError) as error:
        raise InvalidInput(_damaged(path, error)) from None
    if seal not in (None, checksum(state)):
        raise InvalidInput(_damaged(path, ValueError("its checksum differs")))
    return state


def checksum(state: Mapping[str, Tensor]) -> str:
    """SHA-256 over the names, types, shapes and bytes of tensors on the CPU."""
    digest = hashlib.sha256()
    for key, value in sorted(state.items()):
        digest.update(f"{key} {value.dtype} {tuple(value.shape)} ".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _read_torch(path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about pickle protocols
            return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InvalidInput(f"The checkpoint `{path.name}` contains more than tensors (code, Python objects or another "
                           "format) and was not opened; save `model.state_dict()` as safetensors.") from None
    except Exception as error:  # a damaged file makes torch raise almost anything
        raise InvalidInput(_damaged(path, error)) from None


def _damaged(path: Path, error: Exception) -> str:
    reason = " ".join(str(error).split(".")[0].split())[:100] or type(error).__name__
    return (f"The checkpoint `{path.name}` is truncated, damaged or in a different format ({reason}); save it again, "
            "preferably as safetensors.")


def _check_fit(own: Mapping[str, Tensor], state: Mapping[str, Tensor], name: str) -> None:
    there = {own[key].data_ptr() for key in own if key in state and not is_lazy(own[key])}
    faults = {  # weights that are tied are saved once
        "lacks": [key for key in own if key not in state and not key.endswith(OPTIONAL)
                  and (is_lazy(own[key]) or own[key].data_ptr() not in there)],
        "has the unknown": sorted(key for key in state if key not in own),
        "has different shapes for": [f"{key} {tuple(state[key].shape)} instead of {tuple(own[key].shape)}"
                                     for key in own if key in state and not is_lazy(own[key])
                                     and state[key].shape != own[key].shape],
        "has complex numbers for": [key for key in own if key in state and state[key].is_complex()
                                    and not own[key].is_complex()],
    }
    said = [f"{verb} {_listed(keys)}" for verb, keys in faults.items() if keys]
    if said:
        raise InvalidInput(f"The checkpoint `{name}` does not fit the model: it {' and '.join(said)}; choose the model "
                           "that it was saved from.")


def _listed(keys: list[str]) -> str:
    more = f" and {len(keys) - NAMED:,} more" if len(keys) > NAMED else ""
    return ", ".join(keys[:NAMED]) + more
