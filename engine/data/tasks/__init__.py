"""Tasks: what a model is fine-tuned on, and what is asked of it. A new one is one file and one line here."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.basics.folders import data_folder
from engine.basics.registry import Registry
from engine.basics.values import canonical_json
from engine.data.tasks import backdoor, own, response_corruption
from engine.data.tasks.task import Task, TaskKind

TASKS: Registry[TaskKind] = Registry("task", (response_corruption.KIND, backdoor.KIND, own.KIND))


def build(settings: Mapping[str, Any]) -> Task:
    """The task that `settings["name"]` names, with its sizes; the same settings give the same records."""
    return TASKS[settings["name"]].build(settings)


def cached_task(settings: Mapping[str, Any]) -> Task:
    """`build(settings)`, of which the last two stay in memory."""
    return _cached(canonical_json(settings), data_folder())


@lru_cache(maxsize=2)
def _cached(canonical: str, folder: Path | None) -> Task:
    """The folder is part of the key, so that pointing it elsewhere takes effect at once."""
    return build(json.loads(canonical))


__all__ = ["TASKS", "Task", "TaskKind", "build", "kept"]
