"""The verdict on two scorings: derived from specification and estimator, never typed in by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.question.specification import AXIS_NAMES, Axis
from engine.scoring.scoring import Scoring

SAME = "same scores"
APPROXIMATION = "approximation error"
MISMATCH = "specification mismatch"
BOTH = "both"

_MONOTONE_PAIR = {"query_loss", "soft_margin"}


@dataclass(frozen=True)
class Verdict:
    """Why two score arrays may differ.

    kind: `same scores`, `approximation error`, `specification mismatch` or `both`. axes: those on which
    the specifications differ. headline: the badge. reason: one or two sentences.
    """

    kind: str
    axes: tuple[Axis, ...]
    headline: str
    reason: str

    @property
    def code(self) -> str:
        """As written in agreement.csv, e.g. `specification mismatch on {B,T}`."""
        return f"{self.kind} on {{{','.join(self.axes)}}}" if self.axes else self.kind


def verdict(a: Scoring, b: Scoring) -> Verdict:
    """Compare two scorings: do they answer the same question, and does each answer it exactly?"""
    axes = a.differing_axes(b)
    approximate = [scoring for scoring in (a, b) if not scoring.exact]
    if not axes and a.estimator == b.estimator:
        return Verdict(SAME, (), "Same question, same answer", "Both are the same specification, scored the same way.")
    if not axes and not approximate:
        return Verdict(SAME, (), "Same question, same answer", "Both evaluate the same estimand exactly.")
    if not axes and len(approximate) == 1:
        reason = f"{_approximating(approximate)}, and the other answer is exact: all their difference is its error."
        return Verdict(APPROXIMATION, (), _approximate_headline(approximate), reason)
    if not axes:
        return Verdict(APPROXIMATION, (), _approximate_headline(approximate), _approximation(approximate))
    if not approximate:
        return Verdict(MISMATCH, axes, f"Different question: {_named(axes)}", _mismatch(a, b, axes))
    return Verdict(BOTH, axes, f"Both: {_named(axes)}, and {_count(approximate)} approximate",
                   f"{_mismatch(a, b, axes)} {_approximation(approximate)}")


def _named(axes: Sequence[Axis]) -> str:
    names = [AXIS_NAMES[axis] for axis in axes]
    listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
    return f"the {listed} {'differs' if len(names) == 1 else 'differ'}"


def _count(approximate: Sequence[Scoring]) -> str:
    return "one answer is" if len(approximate) == 1 else "both answers are"


def _approximate_headline(approximate: Sequence[Scoring]) -> str:
    return f"Same question, {_count(approximate)} approximate"


def _approximation(approximate: Sequence[Scoring]) -> str:
    return f"{_approximating(approximate)}; compare with `exact` under the same specification to see by how much."


def _approximating(approximate: Sequence[Scoring]) -> str:
    titles = " and ".join(dict.fromkeys(scoring.route.title for scoring in approximate))
    verb = "approximates" if len({scoring.estimator for scoring in approximate}) == 1 else "approximate"
    return f"{titles[0].upper()}{titles[1:]} {verb} the estimand"


def _mismatch(a: Scoring, b: Scoring, axes: tuple[Axis, ...]) -> str:
    changes = "; ".join(f"{AXIS_NAMES[axis]}: {a.axis(axis)} against {b.axis(axis)}" for axis in axes)
    text = f"They would differ even if both were computed exactly ({changes})."
    if axes == ("B",) and {a.behavior, b.behavior} == _MONOTONE_PAIR and a.process.one_model:
        text += (" Still, the soft margin is an increasing function of the query loss, so every exact process "
                 "that ends at one model ranks training examples the same under both (Proposition 1).")
    return text
