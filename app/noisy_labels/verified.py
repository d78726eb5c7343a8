"""A random sample of labels to verify: it tells how many are wrong, and is what can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.noisy_labels import data
from app.widgets.examples import pictures
from app.widgets.jobs import job_panel
from app.widgets.jobs import review as desk_review
from app.widgets.pickers import upload
from app.widgets.words import glossary
from engine.desk import datasets
from engine.desk.analyses import FINE, UNSURE, WRONG, Decision
from engine.desk.noisy_labels import (
    HeldOut,
    NoisyData,
    Review,
    VerifiedSample,
    by_file,
    carried,
    sample_to_verify,
    trusting,
    verified_by,
)

CARRIED = "decisions by file"
"""Decisions that go along to the reading that trusts the sample."""
NONE, UNKNOWN, RIGHT = "none of the classes", "cannot tell", "as given"
SIDE = 72


def carry(sample: NoisyData) -> None:
    """Take over the decisions of the reading before, where this one was made by *Trust the verified sample*."""
    decided = st.session_state.pop(CARRIED, None)
    if decided and sample.source.is_own:
        Review(sample, session=desk_review.token()).add(carried(sample, decided))


def show(sample: NoisyData, held: HeldOut | None) -> None:
    """The sample with what was decided about it, what it tells, and the button that makes it trusted."""
    if not sample.source.is_own:
        return
    review, chosen = Review(sample, session=desk_review.token()), sample_to_verify(sample)
    decisions = review.decisions()
    done = len(chosen.decided(decisions))
    with st.expander(f"Verify a random sample ({done} of {len(chosen.rows)} done)", icon=":material/casino:",
                     key="verify"):
        glossary.caption(
            f"{len(chosen.random):,} labels sampled at random from all {len(sample.rows):,}"
            + (f", and {len(chosen.added):,} more of classes that they lack" if len(chosen.added) else "")
            + ". Give the right label of each: this estimates how many of all labels are wrong, and gives trusted "
              "examples that are representative of the data. Flagged examples alone would be the hardest ones.")
        with st.form("verify:form", border=False):
            table = _table(sample, chosen, decisions)
            edited = st.data_editor(table, hide_index=True, width="stretch",
                                    key=f"verify:{sample.fingerprint[:12]}:{len(decisions)}",
                                    disabled=[name for name in table if name != "right label"],
                                    column_config=_columns(sample))
            pressed = st.form_submit_button("Save", icon=":material/save:")
        if pressed:
            _save(sample, review, chosen, decisions, list(edited["right label"]))
            st.rerun()
        _known(sample, chosen, held, decisions)


def _table(sample: NoisyData, chosen: VerifiedSample, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    names, dataset = sample.dataset.class_names, sample.dataset
    table = pd.DataFrame([{
        "picture": _picture(sample, int(sample.rows[row])), "example": dataset.files[sample.rows[row]],
        "label": names[sample.evidence.y[row]], "right label": _answer(sample, decisions.get(row))}
        for row in chosen.rows])
    return data.beside(table, sample, chosen.rows)


def _columns(sample: NoisyData) -> dict[str, Any]:
    return {"picture": st.column_config.ImageColumn("image", width="small"),
            "right label": st.column_config.SelectboxColumn(
                "right label", options=[RIGHT, *sample.dataset.class_names, NONE, UNKNOWN])}


def _answer(sample: NoisyData, decision: Decision | None) -> str | None:
    """What was decided, as an option of the table."""
    if decision is None:
        return None
    if decision.verdict == WRONG:
        return NONE if decision.label is None else sample.dataset.class_names[decision.label]
    return RIGHT if decision.verdict == FINE else UNKNOWN


def _save(sample: NoisyData, review: Review, chosen: VerifiedSample, decisions: Mapping[int, Decision],
          answers: list[str | None]) -> None:
    """Record the answers that are new."""
    names = sample.dataset.class_names
    new: dict[str, dict[int, int | None]] = {FINE: {}, UNSURE: {}, WRONG: {}}
    for row, answer in zip(chosen.rows, answers, strict=True):
        if not answer or answer == _answer(sample, decisions.get(row)):
            continue
        label = names.index(answer) if answer in names else None
        same = answer == RIGHT or label == sample.evidence.y[row]
        new[FINE if same else UNSURE if answer == UNKNOWN else WRONG][row] = None if same else label
    for verdict, labels in new.items():
        if labels:
            review.decide_all(verdict, labels, decisions)


def _known(sample: NoisyData, chosen: VerifiedSample, held: HeldOut | None, decisions: Mapping[int, Decision]) -> None:
    """How many labels are wrong by what was decided, and the button."""
    flags = np.zeros(len(sample.rows), dtype=bool) if held is None else held.flags
    fraction = chosen.fraction(flags, decisions)
    if fraction is not None:
        glossary.markdown(f"Of the {fraction.of:,} random ones that you verified, "
                          f"**{fraction.sentence(len(sample.rows))}** are wrong.")
    known = verified_by(sample, decisions)
    st.button(f"Trust the verified sample ({len(known):,})", key="verify:trust", icon=":material/verified:",
              disabled=not known, on_click=job_panel.act, args=(_trust, sample, decisions),
              help="Scores then refer to half of these examples, the other half measures accuracy, and neither is "
                   "searched. Two of every class are needed. Your other decisions are unaffected.")


def _trust(sample: NoisyData, decisions: Mapping[int, Decision]) -> None:
    """Read the data with the sample as verified examples."""
    name = datasets.keep_reading(trusting(sample, decisions))
    st.session_state[CARRIED] = by_file(sample, decisions)
    upload.take(name)


def _picture(sample: NoisyData, at: int) -> str:
    return pictures.original_url(sample.dataset, "train", at, SIDE) or pictures.data_url(
        sample.dataset.name, "train", at, sample.dataset) or ""
