"""How `pip install .` builds: the checkout under one package, so that no module is called `engine`, `app` or `pages`.

    whichfluence/                   ->  whichfluence
    engine/  app/  pages/  assets/  ->  whichfluence/engine  whichfluence/app  whichfluence/pages  whichfluence/assets

Imports are renamed on the way, in code, in texts that show code and in the guides, and `python -m engine` becomes
`whichfluence`. The checkout stays as it is: setuptools writes to a folder that is thrown away.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from setuptools import build_meta
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "whichfluence"
PARTS = ("engine", "app", "pages", "assets")
NOT_INSTALLED = shutil.ignore_patterns("__pycache__", "*.pyc", "install")
NAMES = (
    (re.compile(r"\b(from|import) (engine|app|pages)(?=[. ][a-z_]|$)", re.M), rf"\1 {PACKAGE}.\2"),
    (re.compile(r"\bpython -m engine\b(?=\.)"), f"python -m {PACKAGE}.engine"),
    (re.compile(r"\bpython -m engine\b(?!\.)"), PACKAGE),
)

get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel


def renamed(text: str) -> str:
    """Code or a guide of the checkout as the installed package has it.

    >>> renamed("from engine.jobs import Job  # python -m engine doctor, python -m engine.worker")
    'from whichfluence.engine.jobs import Job  # whichfluence doctor, python -m whichfluence.engine.worker'
    """
    for pattern, replacement in NAMES:
        text = pattern.sub(replacement, text)
    return text


def write_package(root: Path, target: Path) -> None:
    """The checkout `root` as the package in the folder `target`, which must not be there yet."""
    shutil.copytree(root / PACKAGE, target, ignore=NOT_INSTALLED)
    for part in PARTS:
        shutil.copytree(root / part, target / part, ignore=NOT_INSTALLED)
    for path in [*target.rglob("*.py"), *(target / "assets" / "guides").glob("*.md")]:
        path.write_text(renamed(path.read_text("utf-8")), "utf-8")


class BuildPackage(build_py):
    """setuptools' step that gathers the modules; there is one package, and it is made here."""

    def run(self) -> None:
        write_package(ROOT, Path(self.build_lib) / PACKAGE)


def build_wheel(wheel_directory: str, config_settings: Mapping | None = None,
                metadata_directory: str | None = None) -> str:
    """PEP 517. The name of the wheel written to `wheel_directory`."""
    with tempfile.TemporaryDirectory() as scratch:
        options = ["egg_info", "--egg-base", scratch, "build", "--build-base", scratch]
        return build_meta.build_wheel(wheel_directory, {**(config_settings or {}), "--global-option": options},
                                      metadata_directory)
