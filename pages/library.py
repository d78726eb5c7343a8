"""Library: what was saved, computed, published and uploaded, in one place, each opened where it was."""

import streamlit as st

from app.library import data, panel, state
from app.widgets.frame.guard import guarded
from app.widgets.words import glossary

st.title("Library")
glossary.lead("Saved comparisons, finished runs, uploads and published results. Each opens on its chart or, without "
              "one, on its tables. Unfinished runs are on Runs.", "wf-library-lead")
with guarded("The library"):
    entries = data.everything()
    panel.show(state.chosen(entries), len(entries))
