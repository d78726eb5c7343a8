"""The parts of the Noisy labels page that stand above its views, and the first view: what detection can be measured."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.noisy_labels import agreement, data, state
from app.noisy_labels import detection as detections
from app.noisy_labels.question import question
from app.widgets import glossary, job_panel, labels
from app.widgets.plain_text import plain
from app.widgets.times import spell
from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.source import NoisyData, NoisySource
from engine.data import title
from engine.desk import Waiting
from engine.runs.noisy_labels import Scored

WHY_NOT = ("Nobody says which labels of these data are wrong, so precision, recall and the table cannot be measured. "
           "Rankings, their agreement, the review desk and retraining work all the same. To measure detection, make "
           "some labels wrong in the sidebar, or bring flags: an array `flags` in the npz, or a file "
           "`wrong_labels.txt` in the folder.")


def ask(source: NoisySource, drawn: NoisyData) -> None:
    """Before the scores are there: what would be done and how long it takes, or how far it is."""
    job = data.scoring_job(source)
    if job is not None and job.state != "done":
        job_panel.wait(Waiting(job.title, job=job.id))
    with st.container(border=True):
        wrong = "" if drawn.flags is None else f", {int(drawn.flags.noisy.sum()):,} of them made wrong"
        if source.noise == 0:
            wrong = ", as they came"
        glossary.markdown(f"**Search {len(drawn.evidence.y):,} labels of {title(source.dataset)}**{wrong}.")
        glossary.caption(
            f"{plain(labels.model_heading(source.model))}: it is trained on the labels as they are, for "
            f"{source.recipe.epochs} epochs; every method then ranks them against "
            f"{len(drawn.evidence.trusted_y):,} trusted examples. About {spell(data.seconds(source))} on "
            "two processor cores; you can close the browser meanwhile.")
        st.button("Find suspicious labels", type="primary", key="find", icon=":material/search:",
                  on_click=job_panel.act, args=(data.start_scoring, source))
    st.code(data.command(source), language="bash", wrap_lines=True)


def skipped(drawn: NoisyData) -> None:
    """Pictures that could not be read: how many, and which."""
    names = drawn.dataset.skipped
    if not names:
        return
    with st.expander(f"{len(names):,} unreadable picture{'s' if len(names) > 1 else ''} left out",
                     icon=":material/broken_image:"):
        st.dataframe(pd.DataFrame({"file": names}), hide_index=True)


def detection(source: NoisySource, drawn: NoisyData, scored: Scored, pair: Pair) -> None:
    """Precision, recall and the table of all pairs; without flags, why they are missing."""
    if drawn.flags is None or not drawn.flags.noisy.any():
        st.info(WHY_NOT, icon=":material/help:")
    else:
        detections.show(source, drawn, scored, pair)
    agreement.show(source, scored, pair)


def pair(pairs: Sequence[Pair]) -> Pair:
    """Method and trusted behavior, and the question that they ask."""
    left, right = st.columns([1, 2], gap="large", vertical_alignment="center")
    with left:
        chosen = state.pair(pairs)
    with right:
        glossary.html(question(chosen))
    return chosen


def facts(source: NoisySource, scored: Scored) -> None:
    """What was trained, and how well."""
    told = scored.facts
    glossary.caption(
        f"{plain(labels.model_heading(source.model))} · {told['training']:,} training labels · "
        f"{told['trusted']:,} trusted examples · {told['test']:,} test examples, {told['test_accuracy']:.1%} "
        f"right · the model agrees with {told['observed_accuracy']:.1%} of the labels it was trained on · "
        f"scores read {told['parameters_scored']:,} parameters · {told['device']}")
