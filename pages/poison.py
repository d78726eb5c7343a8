"""Poison: a prediction is wrong; which training examples taught it, and what becomes of it without them."""

import streamlit as st

from app.poison import panel, state
from app.widgets.examples import cards, record_text
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary

st.title("Poison")
st.html(cards.STYLE + record_text.STYLE)
glossary.lead("This prediction is wrong: which training examples taught it? One query ranks all of them.")
source = state.source()
panel.example(source)
panel.vocabulary(source)
sampled = job_panel.ready(desk().sampled(source))
chosen = panel.mistakes(sampled)
own = panel.own(sampled)
fields = own or {"queries": chosen}
if own or chosen:
    panel.chosen_queries(sampled, () if own else chosen)
    taught = panel.ranked(sampled, source, fields)
    if taught is not None:
        rows = panel.suspects(sampled, source, taught, fields)
        panel.removal(sampled, source, rows, fields, taught)
