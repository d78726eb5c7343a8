"""What a preset is: a comparison to start from."""

from __future__ import annotations

from dataclasses import dataclass

from engine.scoring import controlled
from engine.scoring.scoring import Scoring


@dataclass(frozen=True)
class Preset:
    """Some scorings under a title. note: what to look for, in a sentence. pair: the two that are opened first."""

    name: str
    title: str
    note: str
    scorings: tuple[Scoring, ...]
    pair: tuple[int, int] = (0, 1)


def steps(*behaviors: str) -> tuple[Scoring, ...]:
    """One exact step of the usual size, read off by each behavior."""
    return tuple(controlled.step_scoring(behavior, controlled.ETA) for behavior in behaviors)
