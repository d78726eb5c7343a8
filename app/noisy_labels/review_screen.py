"""The flagged examples as the screen of the review desk shows them, with their reasons where these are known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from app.noisy_labels import data, review_example, state
from app.widgets.jobs import review as desk_review
from app.widgets.jobs.desk import desk
from app.widgets.jobs.review_screen import Screen
from engine.desk.noisy_labels import NoisyData, Pair, Reasons, Scored, rankings

WORDS = {"wrong": "Wrong, correct label unknown (w)", "fine": "Fine (f)", "unsure": "Unsure (u)",
         "one": "training example", "unsuggested": "Nothing suggests another label.", "listed": "flagged",
         "done": "All examples flagged here have been decided. Increase the fraction, or see the result below."}


def screen(sample: NoisyData, scored: Scored, pair: Pair, rows: Sequence[int], reasons: Reasons | None) -> Screen:
    """rows: the flagged ones in the order of a ranking, `pair`. reasons: who speaks against each, where that is
    known; they are added to what is shown of a row when they are."""
    view = f"{pair.title} {sample.fingerprint} {sample.source.model_dump_json()}"
    return Screen(sample.fingerprint, view, tuple(rows), tuple(sample.dataset.class_names), review_example.MARKS, WORDS,
                  partial(_page, sample, scored, pair, reasons, view))


def _page(sample: NoisyData, scored: Scored, pair: Pair, reasons: Reasons | None, view: str, rows: Sequence[int]
          ) -> dict[str, dict[str, Any]]:
    """Some rows as the browser draws them; cached."""
    def draw() -> dict[str, dict[str, Any]]:
        ranks = rankings.all_ranks(scored.suspicion)
        usual = data.usual(sample)
        return {str(row): review_example.drawn(sample, scored, ranks, pair, row, usual, reasons) for row in rows}

    return desk().memory.cached(("review rows", view, reasons is None, tuple(rows)), draw)


def look_at(row: int | None) -> None:
    """Put an example on the screen, whatever stands there."""
    state.look_at(row)
    desk_review.put(row)
