"""Language models: which training records taught the model this, and what finds the bad ones."""

import streamlit as st

from app.language import panel, records, state, trainings
from app.widgets.frame.guard import guarded
from app.widgets.words import glossary

st.title("Language models")
glossary.lead("Which training records taught the model this? It depends on what “this” is: its whole response, its "
              "explanation, or its answer.")

with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
    view = state.view()
    if view != "records":
        panel.example()
if view == "detection":
    with guarded("The heatmap"):
        panel.detection()
    st.divider()
    st.subheader("The question behind the chosen cell")
    panel.question()
elif view == "records":
    wanted = state.study()
    st.divider()
    estimator, behavior = panel.question(*((wanted.lacking, wanted.ranges) if wanted is not None else ()))
    if wanted is not None:
        with guarded("The list of records"):
            records.show(wanted, estimator, behavior)
else:
    with guarded("The table"):
        (panel.ablation if view == "ablation" else panel.removal)()
with guarded("What is on disk"):
    trainings.show()
