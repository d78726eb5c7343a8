"""Scorecard: benchmarks are questions too. Methods on every benchmark, with the exact answers beside them."""

import streamlit as st

from app.scorecard import data as card_data
from app.scorecard import ladder, leaderboard, panel, state
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.pickers import example
from app.widgets.words import glossary

st.title("Scorecard")
glossary.lead("A benchmark is a question too, and its training protocol is part of the question. A method that is "
              "exact for another question can score lower here.", "wf-card-lead")
glossary.caption("Below: [Leaderboard](#leaderboard) · [Why is my LDS low?](#lds-ladder)")
chosen = state.controls()
request = card_data.request(chosen)
answer = card_data.card(chosen, request)
run = card_data.example(request)
example.mark(chosen.source.dataset, run)
if answer is None:
    panel.offer(chosen, request)
elif (table := job_panel.beside(answer)) is not None:
    panel.show(chosen, panel.external(chosen, table))
panel.whole(request, run)
panel.published()
st.divider()
with guarded("Leaderboard"):
    leaderboard.show(chosen)
st.divider()
with guarded("Why is my LDS low?"):
    ladder.show(chosen)
