"""Where results live: one folder a digest, written whole or not at all, and verified whenever it is read.

    HOME/results/<digest>/     manifest.json, <table>.parquet, arrays.safetensors
    HOME/set-aside/<name>/     what could not be trusted, with reason.txt beside it
    HOME/tmp/                  folders being written

HOME is the environment variable WHICHFLUENCE_HOME or, without it, the user's data folder.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.files import atomic_write, discard, disk_errors, sync_folder
from engine.basics.folders import home_folder
from engine.basics.provenance import device_name, versions
from engine.store.sealed import (
    ARRAYS,
    IDENTITY,
    MANIFEST,
    Damage,
    NewerFormat,
    digest_of,
    fill,
    identity_of,
    plain,
    read_manifest,
    verified,
)

__all__ = ["IDENTITY", "Result", "Store", "atomic_write", "device_name", "digest_of", "home", "versions"]

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch


def home() -> Path:
    """The folder that holds results, the job queue and logs (it may not exist yet)."""
    return home_folder()


@dataclass(frozen=True)
class Result:
    """A verified result folder: its manifest, and its tables and arrays, loaded when they are asked for."""

    digest: str
    manifest: dict[str, Any]
    store: Store = field(repr=False, compare=False)

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return [name.removesuffix(".parquet") for name in self.manifest["files"] if name.endswith(".parquet")]

    @property
    def size(self) -> int:
        """Bytes on disk, without the manifest."""
        return sum(entry["size"] for entry in self.manifest["files"].values())

    def table(self, name: str) -> pd.DataFrame:
        """The table `name`, with its index; `StoreError` if there is none."""
        import pandas as pd

        if name not in self.tables:
            known = ", ".join(f"`{table}`" for table in self.tables) or "none"
            raise StoreError(f"Result {self.digest[:12]} has no table `{name}`; it has: {known}.")
        return self._load(f"{name}.parquet", pd.read_parquet)

    def arrays(self) -> dict[str, np.ndarray]:
        """All its arrays, with the dtypes and shapes they were written with."""
        from safetensors.numpy import load_file

        return self._load(ARRAYS, load_file) if ARRAYS in self.manifest["files"] else {}

    def array(self, name: str) -> np.ndarray:
        """The array `name`, alone; `StoreError` if there is none."""
        from safetensors import safe_open

        def one(path: Path) -> np.ndarray | None:
            with safe_open(path, framework="numpy") as opened:
                return opened.get_tensor(name) if name in opened.keys() else None  # noqa: SIM118

        array = self._load(ARRAYS, one) if ARRAYS in self.manifest["files"] else None
        if array is None:
            raise StoreError(f"Result {self.digest[:12]} has no array `{name}`.")
        return array

    def _load(self, file: str, reader: Callable[[Path], Any]) -> Any:
        try:
            return reader(self.store.folder(self.digest) / file)
        except Exception as error:
            self.store.read(self.digest)  # names the damage if the folder changed since it was verified
            raise StoreError(f"`{file}` of result {self.digest[:12]} cannot be loaded ({type(error).__name__}); "
                             "delete the result and repeat the run.") from error


class Store:
    """A shelf of result folders in `root` (default: `home()`)."""

    def __init__(self, root: Path | str | None = None, shelf: str = "results") -> None:
        self.root = Path(root) if root is not None else home()
        self.shelf = self.root / shelf

    def folder(self, digest: str) -> Path:
        """Where the result `digest` lies, whether it exists or not; `InvalidInput` unless 64 hex digits."""
        if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
            raise InvalidInput(f"`{str(digest)[:80]}` is not a digest; give the 64 hexadecimal digits of a result.")
        return self.shelf / digest

    def has(self, digest: str) -> bool:
        """Whether a result of that digest is there (not yet verified)."""
        return (self.folder(digest) / MANIFEST).is_file()

    def read(self, digest: str) -> Result:
        """The result `digest`, every byte of it verified against its manifest.

        `StoreError` if it is missing, or if it cannot be trusted: then its folder is moved to `set-aside/`. One that a
        later version wrote raises `NewerFormat` and stays.
        """
        folder = self.folder(digest)
        try:
            return Result(digest, verified(folder, digest), self)
        except Damage as damage:
            if not folder.exists():
                raise StoreError(f"There is no result {digest[:12]} in the store; start its run first.") from None
            raise self._set_aside(folder, str(damage)) from None
        except NewerFormat:
            raise
        except OSError as error:
            raise StoreError(f"Result {digest[:12]} cannot be read ({error.strerror or error}); "
                             "check the disk and the permissions of the result folder.") from error

    def write(self, digest: str, manifest: Mapping[str, Any], tables: Mapping[str, pd.DataFrame] | None = None,
              arrays: Mapping[str, np.ndarray | torch.Tensor] | None = None) -> Result:
        """Store a result whole or not at all, and return it.

        A result of that digest from the same run (`IDENTITY`) is kept as it is; one from another run is
        never overwritten: `StoreError`. Non-finite numbers in the manifest become null.
        """
        folder = self.folder(digest)
        identity = identity_of(plain(manifest))
        if (stored := self._stored(digest, identity)) is not None:
            return stored
        draft = self.root / "tmp" / f"{digest[:16]}.{os.getpid()}.{secrets.token_hex(4)}"
        try:
            with disk_errors(f"result {digest[:12]} in `{self.root}`"):
                draft.mkdir(parents=True)
                self.shelf.mkdir(parents=True, exist_ok=True)
                record = fill(draft, digest, manifest, tables or {}, arrays or {})
                while not _renamed(draft, folder):
                    if (stored := self._stored(digest, identity)) is not None:
                        return stored
                sync_folder(self.shelf)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return Result(digest, record, self)

    def delete(self, digest: str) -> None:
        """Remove the result `digest`; nothing happens if there is none. Raises `StoreError` where it must stay."""
        folder = self.folder(digest)
        try:
            discard(folder, self.root / "tmp")
        except OSError as error:
            raise StoreError(f"`{folder}` cannot be removed ({error.strerror or error}); check the permissions of its "
                             "folder.") from error

    def entries(self) -> list[Result]:
        """Every result with a readable manifest, newest first, not verified: `read` one before using it."""
        return self.listed("")[0]

    def listed(self, remedy: str) -> tuple[list[Result], dict[str, str]]:
        """(`entries`, a sentence on every folder that they leave out, by its digest: why its manifest cannot be read,
        and the remedy, unless a later version wrote it)."""
        results, said = [], {}
        for folder in sorted(self.shelf.glob("[0-9a-f]*")):
            try:
                results.append(Result(folder.name, read_manifest(self.folder(folder.name), folder.name), self))
            except InvalidInput:  # no digest
                continue
            except NewerFormat as newer:
                said[folder.name] = str(newer)
            except (OSError, Damage) as error:
                said[folder.name] = f"It cannot be read, as {error}; {remedy}."
        return sorted(results, key=lambda result: result.manifest.get("written", ""), reverse=True), said

    def sweep(self, older_than: float = 24 * 3600.0) -> None:
        """Remove drafts that a killed process left more than `older_than` seconds ago."""
        for draft in (self.root / "tmp").glob("*"):
            with suppress(OSError):
                if time.time() - draft.stat().st_mtime > older_than:
                    shutil.rmtree(draft, ignore_errors=True)

    def _stored(self, digest: str, identity: dict[str, Any]) -> Result | None:
        if not self.folder(digest).exists():
            return None
        try:
            result = self.read(digest)
        except StoreError:
            if self.folder(digest).exists():
                raise
            return None  # it was damaged and is set aside now
        if (theirs := identity_of(result.manifest)) != identity:
            keys = sorted(key for key in {*theirs, *identity} if theirs.get(key) != identity.get(key))
            raise StoreError(f"Result {digest[:12]} already exists and differs in `{'`, `'.join(keys)}`; it was not "
                             "overwritten: delete it first if you do not need it.")
        return result

    def _set_aside(self, folder: Path, reason: str) -> StoreError:
        target = self.root / "set-aside" / f"{folder.name[:12]}-{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(3)}"
        sentence = f"Result {folder.name[:12]} cannot be trusted: {reason}; "
        try:
            target.mkdir(parents=True)
            os.rename(folder, target / folder.name)
            with suppress(OSError):
                (target / "reason.txt").write_text(f"{reason}\n", encoding="utf-8")
        except FileNotFoundError:
            with suppress(OSError):
                target.rmdir()
            return StoreError(sentence + "it was set aside, and the run can be repeated.")
        except OSError as error:
            return StoreError(sentence + f"it could not be set aside ({error.strerror}); move it manually.")
        return StoreError(sentence + f"it was moved to set-aside/{target.name}, and the run can be repeated.")


def _renamed(draft: Path, folder: Path) -> bool:
    """Whether `draft` became `folder`; False if `folder` was there first."""
    try:
        os.rename(draft, folder)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            return False
        raise
    return True
