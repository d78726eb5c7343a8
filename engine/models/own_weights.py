"""A user's own trained weights, kept by content under HOME/models/own as safetensors."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path
from typing import BinaryIO

from torch import nn

from engine.basics.contents import content as file_content
from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import make_folder
from engine.basics.folders import home_folder
from engine.basics.quota import require_room
from engine.models.checkpoint import load_checkpoint, save_checkpoint

SUFFIXES = (".safetensors", ".pt", ".pth")
MOST_BYTES = 500_000_000
_NAME = re.compile(r"own-[0-9a-f]{16}")


def keep(file: BinaryIO, filename: str, module: nn.Module) -> str:
    """Check an uploaded checkpoint against the module that it is for, keep it, and return its name `own-<digest>`.

    The file is read without running code in it. Raises `InvalidInput` for another kind of file, one that is too
    large, damaged, holds more than tensors or does not fit the module; nothing is kept then.
    """
    suffix = Path(filename).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInput(f"`{filename}` is not a checkpoint; give {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InvalidInput(f"`{filename}` is larger than {MOST_BYTES // 1_000_000} MB; give a smaller file.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(filename).name[-100:]
        path.write_bytes(content)
        load_checkpoint(module, path)
    name = f"own-{hashlib.sha256(content).hexdigest()[:16]}"
    target = _path(name)
    require_room(len(content))
    make_folder(target.parent)
    save_checkpoint(module.state_dict(), target)
    return name


def load(name: str, module: nn.Module) -> nn.Module:
    """The module with the kept weights. Raises `MissingData` where they are no longer there."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"`{name[:60]}` is not the name of kept weights; give the checkpoint again.")
    if not _path(name).is_file():
        raise MissingData(f"The weights `{name}` are no longer on this machine; give the checkpoint again.")
    return load_checkpoint(module, _path(name))


def content(name: str) -> str:
    """The digest of the kept weights; empty where there are none of that name."""
    return file_content(_path(name)) if _NAME.fullmatch(name) and _path(name).is_file() else ""


def _path(name: str) -> Path:
    return Path(home_folder()) / "models" / "own" / f"{name}.safetensors"
