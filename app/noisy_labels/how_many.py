"""How many labels are wrong, and the first suspects: what stands before all methods have ranked the labels."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.noisy_labels import data
from app.widgets.examples import pictures
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from engine.desk import Waiting
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import FIRST, MISJUDGED, HeldOut, NoisyData, NoisySource

SIDE = 48


def show(source: NoisySource, sample: NoisyData) -> HeldOut | None:
    """The count, or how far it is; None where it is not there."""
    answer = searches.held_out(desk(), source)
    if isinstance(answer, Waiting):
        job_panel.watch(answer)
    elif answer is None:
        st.button("Estimate how many are wrong", key="count", icon=":material/functions:", on_click=job_panel.act,
                  args=(desk().start, searches.HeldOutRequest(source=source)),
                  help=f"It takes {data.count_time(source)}.")
    else:
        count = answer.count.sentence(len(sample.rows))
        glossary.caption(f"Confident learning counts **{count}** as wrong. {MISJUDGED}")
        return answer
    return None


def first(sample: NoisyData, held: HeldOut) -> None:
    """The first suspects, while all methods are computed."""
    rows = held.suspects(FIRST)
    names, dataset = sample.dataset.class_names, sample.dataset
    glossary.markdown(f"**The first {len(rows):,} suspects**: the labels with the lowest probability under models "
                      "not trained on them. The rankings of all methods and the review desk follow.")
    table = pd.DataFrame([{
        "picture": _picture(sample, int(sample.rows[row])),
        "example": dataset.files[sample.rows[row]] if dataset.files else f"row {int(sample.rows[row]):,}",
        "label": names[sample.evidence.y[row]], "predicted": names[held.probabilities[row].argmax()],
        "p(label)": round(float(held.own[row]), 3)} for row in rows])
    st.dataframe(data.beside(table, sample, rows.tolist()), hide_index=True, width="stretch", key="first-suspects",
                 column_config={"picture": st.column_config.ImageColumn("image", width="small")})


def _picture(sample: NoisyData, at: int) -> str:
    dataset = sample.dataset
    url = pictures.original_url(dataset, "train", at, SIDE) or pictures.data_url(dataset.name, "train", at, dataset)
    return url or ""
