"""Labels removed or corrected, against what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.data.corruption import Flags


@dataclass(frozen=True)
class Truth:
    """Of `changed` labels `wrong` are wrong indeed; `restored` of the corrections give the label that was there
    before, None where nothing was corrected or that label is not known."""

    changed: int
    wrong: int
    restored: int | None


def truth(flags: Flags | None, removed: Sequence[int], relabelled: Mapping[int, int]) -> Truth | None:
    """What is known of rows that are removed, and of rows with their new label; None without any known flag."""
    if flags is None or not flags.noisy.any():
        return None
    restored = None
    if relabelled and flags.labels is not None:
        restored = sum(int(flags.labels[row]) == label for row, label in relabelled.items())
    rows = [*removed, *relabelled]
    return Truth(len(rows), int(flags.noisy[rows].sum()), restored)
