"""What a verdict says, claim by claim: a test maps every kind of claim to a predicate on the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from engine.basics.values import Value
from engine.question.specification import AXES, AXIS_NAMES, Axis
from engine.scoring.identities import Gives
from engine.scoring.scoring import Scoring


class Says(Enum):
    """What is claimed of the two scorings that a claim is `of`."""

    ONE_QUESTION = "their exact answers have equal scores"
    QUESTIONS_DIFFER = "their specifications differ on the axes named"
    OTHER_QUESTION = "an estimator answers a different question from that of its specification"
    ANOTHER_RUN = "exact answers of one question about different runs of the training"
    RUN_AND_MEAN = "exact answers of a single run, and of the mean over several"
    NO_QUESTION = "one of them implies no specification"
    SAME_SPECIFICATION = "both are one scoring"
    EQUAL = "their scores are equal"
    PROPORTIONAL = "their scores are proportional, query by query"
    SHIFTED = "their scores are the same up to a constant per query"
    RANKING = "they rank the candidates of every query the same"
    EQUAL_HERE = "their measured scores are equal"
    ALIKE_HERE = "their measured rankings agree"
    SAME_TO_A_DISTANCE = "no two of their scores are further apart than stated"
    DISAGREE = "their measured rankings differ"
    DIFFER = "their measured scores differ, and both are exact"
    MAY_DIFFER = "nothing was measured"
    NOT_DISTINGUISHED = "their measured scores differ, and at least one is approximate"
    APPROXIMATES = "those named approximate their estimand"
    TRUSTED = "the first is known to be right"
    BLAMED = "the first is known to be right, and the second is not"
    UNDECIDED = "the first is right where it converges, which was not measured"
    NEITHER_RIGHT = "neither of them is known to be right"
    HOW_COMPUTED = "a remark on how they were computed"


IN_COMMON = {Gives.EQUAL: Says.EQUAL, Gives.PROPORTIONAL: Says.PROPORTIONAL, Gives.SHIFTED: Says.SHIFTED,
             Gives.RANKING: Says.RANKING}
"""What an identity gives -> the claim that it is."""


@dataclass(frozen=True)
class Said:
    """A claim in words. of: the scorings whose scores it speaks of. axes: those that it names."""

    says: Says
    text: str
    of: tuple[Scoring, ...] = ()
    axes: tuple[Axis, ...] = ()


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def titles(scorings: Sequence[Scoring]) -> str:
    """The names of their estimators, each once."""
    return " and ".join(dict.fromkeys(scoring.route.title for scoring in scorings))


def changes(a: Scoring, b: Scoring, axes: Sequence[Axis]) -> str:
    """What stands against what on these axes."""
    return "; ".join(f"{AXIS_NAMES[axis]}: {' against '.join(_distinguished(a, b, axis))}" for axis in axes)


def _distinguished(a: Scoring, b: Scoring, axis: Axis) -> tuple[str, str]:
    """The chips of an axis; where both are the same, with the settings that differ and have no place in a chip."""
    chips = a.axis(axis), b.axis(axis)
    if chips[0] != chips[1]:
        return chips
    first, second = (dict(zip(AXES, (one.readout.name, one.intervention, one.process), strict=True))[axis]
                     for one in (a, b))
    settings = [one.model_dump() if isinstance(one, Value) else {} for one in (first, second)]
    keys = [key for key in settings[0] if settings[0][key] != settings[1].get(key)]
    descriptions = [", ".join(f"{key} {settings[side][key]}" for key in keys) for side in (0, 1)]
    return f"{chips[0]} ({descriptions[0]})", f"{chips[1]} ({descriptions[1]})"


def axes_differ(axes: Sequence[Axis]) -> str:
    names = [AXIS_NAMES[axis] for axis in axes]
    return f"the {listed(names)} {'differs' if len(names) == 1 else 'differ'}"
