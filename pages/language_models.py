"""Language models: which training records taught the model this, and what finds the bad ones."""

import streamlit as st

from app.language import kept, panel, records, state
from app.widgets.words import glossary

st.title("Language models")
glossary.lead("Which training records taught the model this? It depends on what “this” is: its whole response, its "
              "explanation, or its answer.")

view = state.view()
if view == "detection":
    task = state.task(list(panel.EXPERIMENT))
    panel.guarded(panel.detection, task)
    st.divider()
    st.subheader("The question behind the chosen cell")
    panel.question()
elif view == "records":
    wanted = state.asked()
    st.divider()
    estimator, behavior = panel.question(wanted.lacking if wanted is not None else {})
    if wanted is not None:
        panel.guarded(records.show, wanted, estimator, behavior)
elif view == "ablation":
    panel.guarded(panel.ablation)
else:
    panel.guarded(panel.removal)
panel.guarded(kept.show)
