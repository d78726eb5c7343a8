"""What the names in a study's settings stand for on this machine: its datasets, language model and records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine import data
from engine.applications.language import stages
from engine.basics.errors import InvalidInput
from engine.models.causal import loading
from engine.requests.job import check_contents

TASKS = ("backdoor", "corruption")
"""Where a study that runs several language tasks keeps their settings."""


def gather(settings: Mapping[str, Any]) -> None:
    """Fetch every dataset that the settings name and that is not here yet, before anything is computed.

    Raises `MissingData` for one that cannot be had.
    """
    for name in datasets(settings):
        if not data.content(name):
            data.load(name)


def contents(settings: Mapping[str, Any]) -> dict[str, str]:
    """Name -> digest of the content, empty where it is not here yet.

    Raises `InvalidInput` for a dataset or a model that cannot be.
    """
    digests = {f"data ({name})": data.content(name) for name in datasets(settings)}
    for source in _sources(settings):
        if loading.is_causal(source.get("model", "")):
            digests["model"] = loading.identity(source["model"])["files"]
    attributed = [settings] if "task" in settings else [
        {**settings[task], "model": settings["model"]} for task in TASKS if task in settings]
    for chosen in attributed:
        files = stages.contents(stages.setting(chosen))
        digests |= {name: "" if files[key] in stages.UNFETCHED else files[key]
                    for name, key in (("model files", "model"), ("records", "task"))}
    return digests


def _sources(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*settings.get("sources", ()), *([settings["source"]] if "source" in settings else [])]


def datasets(settings: Mapping[str, Any]) -> list[str]:
    """The names of the datasets that the settings draw from."""
    return sorted({source["dataset"] for source in _sources(settings)})


def check(payload: Mapping[str, Any]) -> None:
    """Raises `InvalidInput` where what the study names was replaced since it was asked for."""
    check_contents(payload, contents(payload["settings"]))


def unchanged(payload: Mapping[str, Any]) -> bool:
    """Whether what a study's payload names is still what it was, as far as it was known then."""
    try:
        check(payload)
    except InvalidInput:
        return False
    return True
