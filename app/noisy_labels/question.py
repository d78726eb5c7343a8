"""The question that a method and a trusted behavior ask, as chips and in English."""

from __future__ import annotations

from html import escape

from app.widgets.words import chips
from engine.desk.noisy_labels import Pair, label_method, scoring_of


def question(pair: Pair, against: Pair | None = None) -> str:
    """What a pair asks, with its axes as chips where it estimates an influence; beside another one, what differs is
    marked."""
    method, scoring = label_method(pair), scoring_of(pair)
    if method is None:
        return ""
    if scoring is None or method.over is None:
        return f'<div class="wf-question">{escape(method.asks(pair.behavior))}</div>'
    other = None if against is None else scoring_of(against)
    sentence = f"{chips.plain_sentence(scoring, other)} {escape(method.over.sentence)}"
    return f'<div class="wf-question">{sentence}</div>{chips.plain(scoring, against=other)}'
