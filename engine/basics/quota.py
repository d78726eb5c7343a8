"""How much of the disk one person may fill: `WHICHFLUENCE_QUOTA`, in GB for each home, no bound without it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from engine.basics.errors import InvalidInput, StoreError
from engine.basics.folders import home_folder
from engine.basics.sizes import spell_bytes

VARIABLE = "WHICHFLUENCE_QUOTA"


def quota() -> float:
    """Bytes; infinite where nothing is set. Raises `InvalidInput` for what is not a positive number of GB."""
    text = os.environ.get(VARIABLE, "").strip()
    try:
        gigabytes = float(text) if text else float("inf")
    except ValueError:
        gigabytes = 0.0
    if not gigabytes > 0:
        raise InvalidInput(f"{VARIABLE} is `{text[:40]}`; give a positive number of GB, such as 2, or leave it out.")
    return gigabytes * 1e9


def used(home: Path) -> int:
    """Bytes of all files in a home; those of others below it do not count."""
    total = 0
    for folder, _, files in os.walk(home):
        for name in files:
            with suppress(OSError):  # removed meanwhile
                total += os.stat(os.path.join(folder, name)).st_size
    return total


def require_room(more: int = 0, home: Path | None = None) -> None:
    """Raises `StoreError` where `more` bytes do not fit into the home (default: of whoever asks)."""
    if (most := quota()) == float("inf"):
        return
    if used(home or home_folder()) + more > most:
        raise StoreError(f"Your folder on this server is full ({spell_bytes(int(most))}); delete results on Runs, "
                         "saved views or stored scores that you no longer need, and try again.")
