"""A user's own trained weights, stored by content under HOME/models/own as safetensors."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import BinaryIO

from torch import nn

from engine.basics.errors import InvalidInput
from engine.basics.files import make_folder
from engine.basics.own_files import OwnFiles
from engine.basics.quota import require_room
from engine.models.checkpoint import load_checkpoint, save_checkpoint

SUFFIXES = (".safetensors", ".pt", ".pth")
MOST_BYTES = 500_000_000
FILES = OwnFiles("models/own", "own-[0-9a-f]{16}", "stored weights", "give the checkpoint again", ".safetensors")
content = FILES.content


def keep(file: BinaryIO, filename: str, module: nn.Module) -> str:
    """Check an uploaded checkpoint against the module that it is for, keep it, and return its name `own-<digest>`.

    The file is read without running code in it. Raises `InvalidInput` for another kind of file, one that is too
    large, damaged, holds more than tensors or does not fit the module; nothing is stored then.
    """
    suffix = Path(filename).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInput(f"`{filename}` is not a checkpoint; give {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    uploaded = file.read(MOST_BYTES + 1)
    if len(uploaded) > MOST_BYTES:
        raise InvalidInput(f"`{filename}` is larger than {MOST_BYTES // 1_000_000} MB; give a smaller file.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(filename).name[-100:]
        path.write_bytes(uploaded)
        load_checkpoint(module, path)
    name = f"own-{hashlib.sha256(uploaded).hexdigest()[:16]}"
    require_room(len(uploaded))
    save_checkpoint(module.state_dict(), make_folder(FILES.path(name).parent) / FILES.path(name).name)
    return name


def load(name: str, module: nn.Module) -> nn.Module:
    """The module with the stored weights. Raises `MissingData` where they are no longer there."""
    return load_checkpoint(module, FILES.require(name))
