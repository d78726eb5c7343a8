"""What is done about a flagged example: a verdict, a step back, and the label that is guessed to be right."""

from __future__ import annotations

from collections.abc import Sequence

from app.noisy_labels import state
from engine.desk.noisy_labels import WRONG, Decision, NoisyData, Review, Scored, rankings


def take(review: Review, row: int, verdict: str, label: int | None, note: str, rows: Sequence[int]) -> None:
    """Record a verdict, and go on to the next example that is not decided."""
    review.decide(row, verdict, label, note)
    decided = review.decisions()
    place = rows.index(row)
    following = next((other for other in [*rows[place + 1:], *rows[:place]] if other not in decided), None)
    state.look_at(following)


def undo(review: Review) -> None:
    """Take back the last decision of this session, and look at its example again."""
    taken = review.undo()
    if taken is not None:
        state.look_at(taken.row)


def right_label(drawn: NoisyData, scored: Scored, before: Decision | None, row: int) -> int | None:
    """The label to use if the given one is wrong: what was decided before, else a guess; None where none is known."""
    if before is not None and before.verdict == WRONG:
        return before.label
    nearest = [int(drawn.evidence.trusted_y[at]) for at in scored.nearest[row]]
    return rankings.guess(int(drawn.evidence.y[row]), int(scored.predicted[row]), nearest)
