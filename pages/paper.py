"""Paper: the paper's value, ours and the difference, cell by cell, with the manifest behind ours."""

import streamlit as st

from app.paper import panel, state
from app.paper.marks import TABLE_ANCHOR
from app.widgets.frame import top
from app.widgets.words import glossary
from engine.desk import published
from engine.desk.published import EXPERIMENTS

st.title("Paper")
glossary.lead("The paper's numbers, recomputed. Every cell shows the paper's value, ours with its 95% interval over "
              "seeds, and the difference; below is what our numbers were computed from.", "wf-paper-lead")

panel.overview()
st.subheader("Cell by cell", anchor=TABLE_ANCHOR)
name = state.choose_experiment()
preset = state.choose_preset(name)
experiment = EXPERIMENTS[name]
model = state.choose_model(name, preset)
result = published.of_model(name, preset, model) if model else published.reproduction(name, preset)
joined = published.with_paper(experiment, result.table if result else None, model)

panel.scale_notes(name, preset, result, model)
if experiment.note:
    glossary.caption(experiment.note)
panel.elsewhere(name)
if result is None:
    panel.empty(name, preset, joined, model)
    top.arrive(TABLE_ANCHOR)
    st.stop()

measure = state.choose_measure(result.table if joined is None else joined)
dataset = state.choose_dataset(result)
if joined is not None and joined["ours"].notna().any():
    panel.comparison(name, preset, joined, measure, dataset, result)
else:
    panel.alone(name, preset, result)
panel.curves(name, preset, measure, dataset, result)
panel.manifest(name, preset, result)
top.arrive(TABLE_ANCHOR)
