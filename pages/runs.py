"""Runs: the work that takes longer than a moment, with progress, cancel, resume, delete and its results."""

import streamlit as st

from app.runs import panel, result, start, state
from app.widgets.frame.guard import guarded
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary

st.title("Runs")
job = state.opened()
if job is not None:
    result.show(job)
else:
    glossary.lead("Long computations run in the background, in parts that are saved as they finish. The same request "
                  "is computed once.")
    start.show(expanded=not desk().jobs.queue.jobs(limit=1))
    with guarded("The list of runs"):
        panel.show()
