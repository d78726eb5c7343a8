"""What was computed of a problem, for the same problem in another process."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from engine.basics.parcel import Parcel, Unpackable
from engine.problems.memory import Memory
from engine.problems.problem import Problem

PARTS = "model", "asked"


def handed(problem: Problem, without: Collection[str] = ()) -> dict[str, Parcel]:
    """What the problem remembers, by names that `take` reads; without what stands under the names given.

    Left out is what cannot be packed, such as a copy of the problem in another precision: who needs it makes it again.
    """
    found = {}
    for part, memory in _memories(problem).items():
        for key, kept in memory.kept().items():
            name = f"{part}/{key}"
            if name not in without:
                with suppress(Unpackable):
                    found[name] = Parcel.of(kept)
    return found


def take(problem: Problem, parcels: Mapping[str, Parcel]) -> None:
    """Let the problem remember what `handed` gave for the same one; what it remembers already stays."""
    memories = _memories(problem)
    for name, parcel in parcels.items():
        part, _, key = name.partition("/")
        if not memories[part].holds(key):
            memories[part].adopt(key, *parcel.opened())


def _memories(problem: Problem) -> dict[str, Memory]:
    return dict(zip(PARTS, (problem.shared.model, problem.shared.asked), strict=True))
