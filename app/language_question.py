"""What a language model's attribution asks, as chips and as one English sentence."""

from __future__ import annotations

from html import escape

import streamlit as st

from app import chips
from engine.language.behaviors import LANGUAGE_BEHAVIORS
from engine.language.estimators import LanguageEstimator
from engine.specification import Specification

STAND_IN = "query_loss"


def sentence(estimator: LanguageEstimator, behavior: str) -> str:
    """The question that an estimator answers about a behavior; for one that implies no specification, what it does."""
    if estimator.intervention is None:
        return {"gradient_norm": "Which training records pull hardest on the model, whatever they teach it?"}.get(
            estimator.name, "Which training records does chance pick?")
    asked = Specification.of(STAND_IN, estimator.intervention, estimator.process)
    clause = (LANGUAGE_BEHAVIORS[behavior].clause if estimator.behavioral
              else "a readout of the prompt's representation")
    return asked.question.replace(asked.readout.clause, clause)


def show(estimator: LanguageEstimator, behavior: str) -> None:
    """Chips, then the sentence."""
    row = ""
    if estimator.intervention is not None:
        asked = Specification.of(STAND_IN, estimator.intervention, estimator.process)
        title = LANGUAGE_BEHAVIORS[behavior].title.lower() if estimator.behavioral else "representation readout"
        row = chips.titled({"B": title, "P": asked.axis("P"), "T": asked.axis("T"), chips.ESTIMATOR: estimator.label})
    st.html(f'{row}<div class="wf-question">{escape(sentence(estimator, behavior))}</div>')
    st.caption(estimator.note + (f" {estimator.source}." if estimator.source else ""))
