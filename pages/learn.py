"""Learn: nine short lessons, each live, and a plane to play with."""

import streamlit as st

from app.learn import LESSONS, panel, state
from app.widgets import glossary

st.title("Learn")
glossary.caption(
    "Nine steps of a minute each: seven on pictures of clothing, one on handwritten digits, the last on thirty points. "
    "All is computed while you watch, and every choice is in the address. Words with dots below explain themselves.")
step = state.step(len(LESSONS))
panel.show(step)
panel.onward(step)
glossary.whole()
