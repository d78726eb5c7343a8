"""What a language model's attribution asks, as chips and as one English sentence."""

from __future__ import annotations

from html import escape

from app.widgets import chips, glossary
from engine.applications.language.estimators import LanguageEstimator
from engine.models.causal.readouts import READOUTS
from engine.question.specification import Specification

STAND_IN = "query_loss"
PROCESSES = {"one_step": ("one step", "in one small gradient step from the trained model"),
             "trajectory": ("trajectory", "in one extra step at each checkpoint of its training, the effects added up")}
"""Chip and clause of the processes whose sizes a run decides."""
ALONE = {"gradient_norm": "Which training records pull hardest on the model, whatever they teach it?",
         "random": "Which training records does chance pick?"}


def sentence(estimator: LanguageEstimator, behavior: str) -> str:
    """The question that an estimator answers about a behavior; for one that implies no specification, what it does."""
    if estimator.intervention is None:
        return ALONE[estimator.name]
    asked = Specification.of(STAND_IN, estimator.intervention, estimator.process)
    clause = (READOUTS[behavior].clause if estimator.behavioral
              else "a readout of the prompt's representation")
    text = asked.question.replace(asked.readout.clause, clause)
    if asked.process.kind in PROCESSES:
        text = text.replace(asked.process.clause, PROCESSES[asked.process.kind][1])
    return text


def show(estimator: LanguageEstimator, behavior: str) -> None:
    """Chips, then the sentence."""
    row = ""
    if estimator.intervention is not None:
        asked = Specification.of(STAND_IN, estimator.intervention, estimator.process)
        title = READOUTS[behavior].title.lower() if estimator.behavioral else "representation readout"
        process = PROCESSES.get(asked.process.kind, (asked.axis("T"),))[0]
        row = chips.titled({"B": title, "P": asked.axis("P"), "T": process, chips.ESTIMATOR: estimator.label})
    asks = escape(sentence(estimator, behavior))
    glossary.html(f'{row}<div class="wf-question" style="margin-top:.5rem">{asks}</div>')
    glossary.caption(estimator.note + (f" {estimator.source}." if estimator.source else ""))
