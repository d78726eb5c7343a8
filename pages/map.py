"""Map: all training examples as a cloud, by what the model reads, with the selection of all pages."""

import streamlit as st

from app.examples import panel as example_panel
from app.map import data as map_data
from app.map import panel, state
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers
from app.widgets.words import glossary, labels
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk import Waiting


def main() -> None:
    st.title("Map")
    glossary.lead("Every training example where the model sees it: what it reads alike stands together.")
    source = pickers.source()
    try:
        drawn = desk().drawn(source)
        if isinstance(drawn, Waiting):
            job_panel.wait(drawn)
        _page(source, drawn)
    except WhichfluenceError as error:
        st.error(sentence(error), icon=":material/error:")


def _page(source, drawn) -> None:
    scorings = example_panel.specifications()
    chosen = state.controls(drawn, scorings, labels.numbered(labels.short(scorings)))
    found = map_data.embedding(source, chosen)
    if isinstance(found, Waiting):
        job_panel.wait(found)
    scores = None
    if chosen.scoring is not None:
        count = desk().candidate_count(source, [chosen.scoring], pickers.optima_candidates())
        scored = desk().scores(source, [chosen.scoring], count)
        if isinstance(scored, Waiting):
            job_panel.wait(scored)
        scores = scored[0]
    placed = map_data.placed(drawn, found, chosen, scores)
    panel.take(placed, chosen)
    panel.legend(chosen)
    panel.cloud(drawn, found, placed, chosen)
    panel.selected(drawn, chosen, scores)


main()
