"""Library: what was saved, computed, published and uploaded, in one place, each opened where it was."""

import streamlit as st

from app.library import data, panel, state
from app.widgets.frame.guard import guarded
from app.widgets.words import glossary

st.title("Library")
glossary.lead("What you saved, computed and uploaded, and the results that came with the program. Each opens on the "
              "chart it came from; a run that no page waited for opens on its tables. What is still being computed is "
              "on Runs.", "wf-library-lead")
with guarded("The library"):
    entries = data.everything()
    panel.show(state.chosen(entries), len(entries))
