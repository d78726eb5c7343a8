"""Tasks: what a model is fine-tuned on, and what is asked of it. A new one is one file and one line here."""

from collections.abc import Mapping
from typing import Any

from engine.basics.registry import Registry
from engine.data.tasks import backdoor, own, response_corruption
from engine.data.tasks.task import Task, TaskKind

TASKS: Registry[TaskKind] = Registry("task")
for _kind in (response_corruption.KIND, backdoor.KIND, own.KIND):
    TASKS.add(_kind.name, _kind)


def build(settings: Mapping[str, Any]) -> Task:
    """The task that `settings["name"]` names, with its sizes; the same settings give the same records."""
    return TASKS[settings["name"]].build(settings)


__all__ = ["TASKS", "Task", "TaskKind", "build"]
