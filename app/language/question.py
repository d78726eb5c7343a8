"""What a language model's attribution asks, as chips and as one English sentence."""

from __future__ import annotations

from html import escape

from app.widgets import chips, glossary
from engine.applications.language.estimators import LanguageEstimator
from engine.question.specification import Specification

READOUT = "answer_logit"
"""Stands in for the readout of a similarity, which no behavior names."""
ALONE = {"gradient_norm": "Which training records pull hardest on the model, whatever they teach it?",
         "random": "Which training records does chance pick?"}


def asked(estimator: LanguageEstimator, behavior: str) -> Specification | None:
    """The specification that an estimator implies for a behavior; None where it implies none."""
    if estimator.intervention is None:
        return None
    return Specification.of(behavior if estimator.behavioral else READOUT, estimator.intervention, estimator.process)


def sentence(estimator: LanguageEstimator, behavior: str) -> str:
    """The question that an estimator answers about a behavior; for one that implies no specification, what it does."""
    found = asked(estimator, behavior)
    if found is None:
        return ALONE[estimator.name]
    return found.plain_question("" if estimator.behavioral else "a readout of the prompt's representation")


def show(estimator: LanguageEstimator, behavior: str) -> None:
    """Chips, then the sentence."""
    found, row = asked(estimator, behavior), ""
    if found is not None:
        readout = found.axis("B") if estimator.behavioral else "representation readout"
        row = chips.titled({"B": readout, "P": found.axis("P"), "T": found.process.plain_title,
                            chips.ESTIMATOR: estimator.label})
    asks = escape(sentence(estimator, behavior))
    glossary.html(f'{row}<div class="wf-question" style="margin-top:.5rem">{asks}</div>')
    glossary.caption(estimator.note + (f" {estimator.source}." if estimator.source else ""))
