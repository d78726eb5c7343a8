"""Where the files of a package lie, without importing it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from engine.basics.errors import MissingData


def package_file(package: str, inside: str, distribution: str) -> Path:
    """The path of a file in an installed package. Raises `MissingData` where it is not there."""
    spec = find_spec(package)
    path = Path(spec.origin).parent / inside if spec is not None and spec.origin else None
    if path is None or not path.is_file():
        raise MissingData(f"The package `{distribution}`, which holds pretrained weights, is not installed; install "
                          "what requirements.txt lists.")
    return path
