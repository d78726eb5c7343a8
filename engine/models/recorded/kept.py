"""Recordings imported to this machine, stored by content under HOME/models/own."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from torch import nn

from engine.basics.errors import InvalidInput, MissingData
from engine.basics.files import disk_errors, make_folder
from engine.basics.folders import home_folder
from engine.data.archive import open_zip, unpack
from engine.models.recorded.folder import FACTS, Facts, Recording, open_recording, read_facts

SUFFIX, NOUN = ".zip", "zip of a recording"
MOST_BYTES, MOST_FILES = 2_000_000_000, 10_000
_NAME = re.compile(r"run-[0-9a-f]{16}")


def is_recording(name: str) -> bool:
    """Whether stored weights are those of a recorded training."""
    return bool(_NAME.fullmatch(name))


def keep(folder: Path, build: Callable[[], nn.Module] | None = None) -> str:
    """Keep the recording in a folder, and return its name `run-<digest>`. Raises as `open_recording` does, and
    `InvalidInput` where it is of another model than `build` makes; nothing is stored then."""
    run = open_recording(folder)
    if build:
        run.put(build(), 0)
    name = f"run-{run.digest}"
    target = _path(name)
    if not target.exists():
        draft = make_folder(target.parent) / f".{name}.{secrets.token_hex(4)}"
        try:
            with disk_errors(f"the recording `{folder.name}`"):
                draft.mkdir()
                for file in (FACTS, *run.facts.files):
                    shutil.copyfile(folder / file, draft / file)
                if not target.exists():  # another process may have been faster
                    os.rename(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return name


def keep_zip(file: BinaryIO, build: Callable[[], nn.Module] | None = None) -> str:
    """The same for a zip of the folder. Raises `InvalidInput` for what is none."""
    with tempfile.TemporaryDirectory() as folder, open_zip(file, NOUN, MOST_BYTES) as archive:
        unpack(archive, Path(folder), NOUN, lambda name: name.endswith((".json", ".safetensors")), MOST_FILES)
        facts_at = sorted(Path(folder).rglob(FACTS))
        if len(facts_at) != 1:
            raise InvalidInput(f"The {NOUN} holds {len(facts_at)} files `{FACTS}` where there should be one; pack the "
                               "folder that a `Recorder` wrote.")
        return keep(facts_at[0].parent, build)


def load(name: str) -> Recording:
    """A stored recording. Raises `MissingData` where it is no longer there."""
    return open_recording(_there(name))


def facts(name: str) -> Facts:
    """Those of a stored recording, read alone. Raises as `load` does."""
    return read_facts(_there(name))


def _there(name: str) -> Path:
    if not is_recording(name):
        raise InvalidInput(f"`{name[:60]}` is not the name of a kept recording; give the recording again.")
    if not _path(name).is_dir():
        raise MissingData(f"The recording `{name}` is no longer on this machine; give it again.")
    return _path(name)


def content(name: str) -> str:
    """Its digest; empty where it is not here."""
    return name if is_recording(name) and (_path(name) / FACTS).is_file() else ""


def _path(name: str) -> Path:
    return Path(home_folder()) / "models" / "own" / name
