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
              "seeds, and the difference; the provenance of ours is below.", "wf-paper-lead")

whose = state.choose_conventions()
panel.overview(whose)
st.subheader("Cell by cell", anchor=TABLE_ANCHOR)
name = state.choose_experiment()
preset = state.choose_preset(name, whose)
experiment = EXPERIMENTS[name]
model = state.choose_model(name, preset, whose)
result = (published.of_model(name, preset, model, whose) if model
          else published.reproduction(name, preset, whose))
joined = published.with_paper(experiment, result.table if result else None, model, whose)

panel.scale_notes(name, preset, result, model)
panel.reading_notes(name, whose)
panel.elsewhere(name)
if result is None:
    panel.empty(name, preset, joined, model, whose)
    top.arrive(TABLE_ANCHOR)
    st.stop()

measure = state.choose_measure(result.table if joined is None else joined)
dataset = state.choose_dataset(result)
if joined is not None and joined["ours"].notna().any():
    panel.comparison(name, preset, joined, measure, dataset, result)
    panel.curves(name, preset, joined, measure, dataset, result)
else:
    panel.alone(name, preset, result)
panel.manifest(name, preset, result)
top.arrive(TABLE_ANCHOR)
