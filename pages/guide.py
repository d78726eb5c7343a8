"""Guide: how everything works, to read and to search."""

import streamlit as st

from app.guide import data, panel, state
from app.guide.search import search
from app.widgets.words import glossary

st.title("Guide")
glossary.lead("Commands, file formats, recipes, and how each thing is computed. The tests run the code blocks.")

guides = {name: data.read(name) for name in data.GUIDES}
words = state.searched()
with st.container(key="wf-guide"):
    if words:
        panel.matches(search(list(guides.values()), words), words)
        st.stop()
    with st.container(horizontal=True):
        opened = state.guide(guides)
        slug = state.heading(opened)
    panel.text(opened, slug)
    panel.onward(opened, guides, slug)
