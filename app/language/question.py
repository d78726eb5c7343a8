"""What a method of attribution asks of a language model, as chips and as one English sentence."""

from __future__ import annotations

from html import escape

from app.widgets.words import chips, glossary
from engine.desk.language import RecordMethod


def show(method: RecordMethod, behavior: str) -> None:
    """Chips, where it implies a specification, then the sentence."""
    scoring = method.scoring(behavior)
    row = "" if scoring is None else chips.plain(
        scoring, behavior="" if method.reads else "representation readout", estimator=method.label)
    glossary.html(f'{row}<div class="wf-question" style="margin-top:.5rem">{escape(method.asks(behavior))}</div>')
    glossary.caption(method.named.note + (f" {method.named.source}." if method.directed else ""))
