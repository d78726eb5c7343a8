"""The question that a method and a trusted behavior ask, as chips and in English, and the verdict on two of them."""

from __future__ import annotations

from html import escape

from app.widgets import chips
from engine.applications.noisy_labels.pairs import Pair, method_of
from engine.scoring.verdict import Verdict, verdict


def question(pair: Pair) -> str:
    """What a pair asks, with its axes as chips where it estimates an influence."""
    method = method_of(pair)
    if method is None:
        return ""
    scoring = method.scoring(pair.behavior)
    row = "" if scoring is None else chips.plain(scoring)
    return f'<div class="wf-question">{escape(method.asks(pair.behavior))}</div>{row}'


def why(first: Pair, second: Pair) -> Verdict | None:
    """The derived verdict on two pairs; None where one of them implies no specification."""
    asked = [method.scoring(pair.behavior) for pair in (first, second) if (method := method_of(pair))]
    return verdict(*asked) if len(asked) == 2 and all(asked) else None
