"""Specifications between two others: some axes of the one, the rest of the other.

A pair of intervention and process that does not fit can still have one plain reading, because interventions are
changes of z_k's weight in the objective. Three readings are taken; every other unfit pair has none, and what it
would separate stays together:

- one more occurrence, answered by an optimum, is upweighting by α = 1/n;
- an infinitesimal weight, answered by re-optimisation, is the local response under the same damping;
- a weight, answered by the local response, scales the infinitesimal one, so that it ranks alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import InvalidInput
from engine.interventions import OPTIMA, Infinitesimal, Intervention, Upweight
from engine.processes import LocalResponse, Process
from engine.scoring import Scoring
from engine.specification import fitting, misfit


@dataclass(frozen=True)
class Intermediate:
    """The exact question that stands between two others; None, with the reason, where there is none.

    reading: a sentence on what an unfit pair is taken for, or on why it cannot be had; empty for a fit pair.
    """

    scoring: Scoring | None
    reading: str = ""


def intermediate(behavior: str, intervention: Intervention, process: Process, n: int) -> Intermediate:
    """(B, P, T), read by one of the rules above where P does not fit T. n: training examples."""
    reading = ""
    if process.kind not in fitting(intervention.kind):
        found = _read(intervention, process, n)
        if found is None:
            return Intermediate(None, misfit(intervention.kind, process.kind))
        intervention, process, reading = found
    try:
        return Intermediate(Scoring.of(behavior, intervention, process), reading)
    except InvalidInput as error:
        return Intermediate(None, str(error))


def _read(intervention: Intervention, process: Process, n: int) -> tuple[Intervention, Process, str] | None:
    kind = intervention.kind
    if kind == "add_occurrence" and process.kind in OPTIMA:
        return Upweight(alpha=1.0 / n), process, (
            f"One more occurrence in {n:,} examples, answered by {process.title}, is read as upweighting by 1/{n:,}.")
    if kind == "infinitesimal" and process.kind == "reoptimize":
        return intervention, LocalResponse(damping=process.damping), (
            "An infinitesimal weight, answered by re-optimisation, is read as the local response with the same "
            "damping.")
    if kind in ("add_occurrence", "upweight") and process.kind == "local_response":
        return Infinitesimal(), process, (
            "A weight on the example, answered by the local response, is read as the infinitesimal weight: the one is "
            "a multiple of the other, and they rank alike.")
    return None
