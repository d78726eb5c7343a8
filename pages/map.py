"""Map: all training examples as a cloud, by what the model reads, with the selection of all pages."""

import streamlit as st

from app.examples import panel as example_panel
from app.map import data as map_data
from app.map import panel, state
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers
from app.widgets.words import glossary, labels

st.title("Map")
glossary.lead("All training examples by the model's representation: similar representations are close together.")
source = pickers.source()
sampled = job_panel.ready(desk().sampled(source))
scorings = example_panel.specifications()
chosen = state.controls(sampled, scorings, labels.numbered(labels.short(scorings)))
embedded = job_panel.ready(map_data.embedding(source, chosen))
scores = None
if chosen.scoring is not None:
    count = desk().candidate_count(source, [chosen.scoring], pickers.optima_candidates())
    scores = job_panel.ready(desk().scores(source, [chosen.scoring], count))[0]
placed = map_data.placed(sampled, embedded, chosen, scores)
panel.take(placed, chosen)
panel.legend(chosen)
panel.cloud(sampled, embedded, placed, chosen)
panel.selected(sampled, chosen, scores)
