"""Runs: the work that takes longer than a moment, with progress, cancel, resume, delete and its results."""

import streamlit as st

from app import glossary, run_list, run_start, run_view, saved_panel
from app.workbench import queue

st.title("Runs")
job = run_view.opened()
if job is not None:
    run_view.show(job)
else:
    glossary.lead("Work that takes longer than a moment runs in the background, in parts that are saved as they "
                  "finish. The same question is computed once, whoever asks for it.")
    run_start.show(expanded=not queue().jobs(limit=1))
    run_list.show()
    saved_panel.listing()
