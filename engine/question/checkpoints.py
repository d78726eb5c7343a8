"""Which models along a training a process visits, apart from all else that it says."""

from __future__ import annotations

from typing import TypeVar, cast

from engine.question.process import ProcessValue
from engine.question.processes import Trajectory

AnyProcess = TypeVar("AnyProcess", bound=ProcessValue)
VISITED = ("checkpoints", "every", "fractions")
"""The fields of a trajectory that say at which checkpoints, as far as it has them."""


def of_checkpoints(process: AnyProcess, other: ProcessValue) -> AnyProcess:
    """The process at the other one's checkpoints, where both are trajectories; else the process itself."""
    if not (isinstance(process, Trajectory) and isinstance(other, Trajectory)):
        return process
    visited = {name: getattr(other, name) for name in VISITED if name in Trajectory.model_fields}
    return cast(AnyProcess, process.model_copy(update=visited))
