"""Scorecard: benchmarks are questions too. Methods on every benchmark, with the exact answers beside them."""

import streamlit as st

from app.scorecard import data as card_data
from app.scorecard import panel, state
from app.widgets.jobs import job_panel
from app.widgets.words import glossary
from app.widgets.words.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk import Waiting


def main() -> None:
    st.title("Scorecard")
    glossary.lead("A benchmark is a question too, and how it trains its models is a part of it. An exact answer to "
                  "another question may be behind here.", "wf-card-lead")
    try:
        chosen = state.controls()
        asked = card_data.request(chosen)
        found = card_data.card(chosen, asked)
        if isinstance(found, Waiting):
            job_panel.watch(found)
        elif found is None:
            panel.offer(chosen, asked)
        else:
            panel.show(chosen, found)
        panel.published()
    except WhichfluenceError as error:
        st.error(sentence(error), icon=":material/error:")


main()
