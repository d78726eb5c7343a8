"""A user's own trained weights, stored by content under HOME/models/own as safetensors."""

from __future__ import annotations

import hashlib
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from torch import nn

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import make_folder
from engine.basics.own_files import OwnFiles
from engine.basics.quota import require_room
from engine.models.checkpoint import checksum, load_checkpoint, load_state, read_state, save_checkpoint

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
    if not _holds(FILES.path(name), module):
        require_room(len(uploaded))
        save_checkpoint(module.state_dict(), make_folder(FILES.path(name).parent) / FILES.path(name).name)
    return name


def _holds(path: Path, module: nn.Module) -> bool:
    """Whether a file holds the weights of the module already; it stays then, as its content tells data apart."""
    with suppress(InvalidInput, MissingData):
        return checksum(read_state(path)) == checksum({name: value.detach().cpu()
                                                       for name, value in module.state_dict().items()})
    return False


def load(name: str, module: nn.Module) -> nn.Module:
    """The module with the stored weights. Raises `MissingData` where they are no longer there, or damaged."""
    path = FILES.require(name)
    try:
        state = read_state(path)
    except InvalidInput:
        raise MissingData(f"The stored weights `{name}` are damaged; give the checkpoint again.") from None
    return load_state(module, state, path.name)
