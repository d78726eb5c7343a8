"""What a result was made with: versions and device, without paths or host names."""

from __future__ import annotations

import functools
import hashlib
import platform
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("torch", "numpy", "scipy")


@functools.cache
def _versions() -> tuple[tuple[str, str], ...]:
    libraries = {"whichfluence": _own_version(), "python": platform.python_version(), **versions_of(*LIBRARIES)}
    return tuple({**libraries, "platform": f"{platform.system()} {platform.machine()}"}.items())


def versions_of(*libraries: str) -> dict[str, str]:
    """Versions of further libraries that a result rests on, by name."""
    by_name = {}
    for library in libraries:
        try:
            by_name[library] = version(library)
        except PackageNotFoundError:
            by_name[library] = "absent"
    return by_name


def versions() -> dict[str, str]:
    """Versions of this program, Python and the numerical libraries, and the kind of platform."""
    return dict(_versions())


def device_name(device: object = "cpu") -> str:
    """What a torch device is called by its maker, such as `NVIDIA H100 80GB HBM3`, or the processor for `cpu`."""
    if str(device).startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(torch.device(str(device)))
    if str(device) != "cpu":
        return str(device)
    return _processor()


@functools.cache
def _processor() -> str:
    return _said_of_processor("model name") or platform.processor() or platform.machine()


@functools.cache
def processor_features() -> str:
    """A short digest of what a processor says it can do, which tells apart processors of one name; empty where it
    does not say."""
    said = _said_of_processor("flags") or _said_of_processor("Features")
    return hashlib.sha256(said.encode()).hexdigest()[:12] if said else ""


def _said_of_processor(key: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key), "")


def _own_version() -> str:
    try:
        return version("whichfluence")
    except PackageNotFoundError:  # run from a checkout that was not installed
        project = Path(__file__).parents[2] / "pyproject.toml"
        if not project.is_file():
            return "unknown"
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
