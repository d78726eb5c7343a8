"""Paper: the paper's value, ours and the difference, cell by cell, with the manifest behind ours."""

import streamlit as st

from app.paper import panel as paper_panel
from app.widgets import glossary, published
from engine.experiments import EXPERIMENTS

st.title("Paper")
glossary.lead("The paper's numbers, recomputed. Every cell shows the paper's value, ours with its 95% interval over "
              "seeds, and the difference; below stands what our numbers were made from.")

name = paper_panel.choose_experiment()
preset = paper_panel.choose_preset(name)
experiment = EXPERIMENTS[name]
model = paper_panel.choose_model(name, preset)
found = published.of_model(name, preset, model) if model else published.reproduction(name, preset)
joined = published.with_paper(experiment, found.table if found else None, model)

if experiment.note:
    glossary.caption(experiment.note)
paper_panel.elsewhere(name)
if found is None:
    paper_panel.empty(name, preset, joined, model)
    st.stop()

measure = paper_panel.choose_measure(found, joined)
dataset = paper_panel.choose_dataset(found)
if joined is not None and joined["ours"].notna().any():
    paper_panel.comparison(name, preset, joined, measure, dataset, found)
else:
    paper_panel.alone(name, preset, found)
paper_panel.curves(name, preset, measure, dataset, found)
paper_panel.manifest(name, preset, found)
