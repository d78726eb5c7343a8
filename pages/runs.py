"""Runs: the work that takes longer than a moment, with progress, cancel, resume, delete and its results."""

import streamlit as st

from app.compare import saved as saved_panel
from app.runs import list as run_list
from app.runs import start as run_start
from app.runs import view as run_view
from app.widgets import glossary
from app.widgets.desk import desk

st.title("Runs")
job = run_view.opened()
if job is not None:
    run_view.show(job)
else:
    glossary.lead("Work that takes longer than a moment runs in the background, in parts that are saved as they "
                  "finish. The same question is computed once, whoever asks for it.")
    run_start.show(expanded=not desk().jobs.queue.jobs(limit=1))
    run_list.show()
    saved_panel.listing()
