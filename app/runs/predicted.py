"""How long finished runs were predicted to take, against what they took: the table and a chart."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.charts import predicted
from app.charts.draw import draw
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.basics.csv_text import csv_text
from engine.desk.shelves import Job

FACTOR = 2.0
LEAST = 1.0
"""Seconds below which a run is too short for its time to matter."""


def show(jobs: Sequence[Job]) -> None:
    """The panel; nothing before a run of a second or more has finished."""
    rows = table(jobs)
    if rows.empty:
        return
    with st.expander("Predicted against measured time", icon=":material/timer:"):
        glossary.caption(said(rows))
        draw(predicted.against, rows, FACTOR, key="runs:predicted",
             alt=f"Predicted against measured seconds of {len(rows)} finished runs, on logarithmic axes. {said(rows)}")
        st.dataframe(rows, hide_index=True, width="stretch", alt=f"Predicted and measured times of {len(rows)} runs",
                     column_config={name: st.column_config.NumberColumn(format="%.3g") for name in
                                    ("predicted (s)", "from (s)", "to (s)", "measured (s)", "measured / predicted")})
        downloads.file_button("CSV", lambda: csv_text(rows), "predicted-times.csv", "text/csv", "runs:predicted-csv")


def table(jobs: Sequence[Job]) -> pd.DataFrame:
    """One row a finished run, the last one first."""
    done = sorted((job for job in jobs if job.state == "done" and job.predicted and job.spent >= LEAST),
                  key=lambda job: -(job.finished or 0.0))
    return pd.DataFrame([{"run": job.title, "kind": job.kind, "predicted (s)": job.predicted,
                          "from (s)": job.predicted_low, "to (s)": job.predicted_high, "measured (s)": job.spent,
                          "measured / predicted": job.spent / (job.predicted or 1.0)} for job in done])


def said(rows: pd.DataFrame) -> str:
    """How many predictions were right within the factor, and in how many intervals the time lay."""
    ratio = rows["measured / predicted"]
    close = int(ratio.between(1 / FACTOR, FACTOR).sum())
    inside = int(((rows["measured (s)"] >= rows["from (s)"]) & (rows["measured (s)"] <= rows["to (s)"])).sum())
    return (f"Of {len(rows)} finished runs of a second or more, {close} took between half and twice the predicted "
            f"time, and {inside} lay in the predicted 90% interval.")
