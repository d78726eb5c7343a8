"""What was computed of a problem, for the same problem in another process."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from engine.basics.parcel import Parcel, Unpackable
from engine.problems.memory import ProblemMemory
from engine.problems.problem import Problem

MEMORIES = "model", "asked"
DOUBLE = "double"
"""The copy of a problem in float64, which it remembers under this key, and which has a memory of its own."""


def handed(problem: Problem, without: Collection[str] = ()) -> dict[str, Parcel]:
    """What the problem remembers, by names that `take` reads; without what stands under the names given.

    Left out is what cannot be packed, such as functions: who needs it makes it again.
    """
    parcels = {f"{DOUBLE}/{name}": parcel for name, parcel in handed(problem.double()).items()
               if f"{DOUBLE}/{name}" not in without} if problem.holds(DOUBLE) else {}
    for name_of_memory, memory in _memories(problem).items():
        for key, entry in memory.entries().items():
            name = f"{name_of_memory}/{key}"
            if name not in without:
                with suppress(Unpackable):
                    parcels[name] = Parcel.of(entry)
    return parcels


def take(problem: Problem, parcels: Mapping[str, Parcel]) -> None:
    """Let the problem remember what `handed` gave for the same one; what it remembers already stays."""
    memories, of_double = _memories(problem), {}
    for name, parcel in parcels.items():
        memory_name, _, key = name.partition("/")
        if memory_name == DOUBLE:
            of_double[key] = parcel
        elif not memories[memory_name].holds(key):
            memories[memory_name].adopt(key, *parcel.opened())
    if of_double:
        take(problem.double(), of_double)


def _memories(problem: Problem) -> dict[str, ProblemMemory]:
    return dict(zip(MEMORIES, (problem.shared.model, problem.shared.queries), strict=True))
