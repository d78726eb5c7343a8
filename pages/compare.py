"""Compare: pick specifications, see where their rankings part, and why."""

import streamlit as st

from app.compare import bring as bring_panel
from app.compare import brought_files, plane
from app.compare import data as comparisons
from app.compare import datamodels as datamodel_panel
from app.compare import explanation as explanation_panel
from app.compare import panel as compare_panel
from app.compare import saved as saved_panel
from app.widgets import glossary, job_panel, labels, specification_list
from app.widgets.guard import guarded
from app.widgets.plain_text import sentence
from engine.basics.errors import WhichfluenceError
from engine.desk import Waiting

st.title("Compare")
glossary.markdown(
    "Each specification is one question about influence. A cell says how far two of them rank the training "
    "examples alike; open one to see whether they ask different questions, or one answers less well.")

brought_files.notice()
scorings = specification_list.chosen()
specification_list.preset_picker(scorings)
if len(scorings) < 2:
    specification_list.empty(scorings)
    specification_list.rows(scorings)
    specification_list.adder(scorings)
    st.stop()
specification_list.adder(scorings)
if len(scorings) > specification_list.MANY:
    st.warning(f"{len(scorings)} specifications are a lot for one heatmap; {specification_list.MANY} or fewer stay "
               "readable and quick.", icon=":material/grid_on:")

left, right = st.columns([6, 7], gap="large")
with left:
    specification_list.rows(scorings)
with right:
    specification_list.OPENED.take_click(len(scorings))
    pair = specification_list.chosen_pair(scorings)
    metric = compare_panel.metric_switch()
    try:
        found = comparisons.compared(scorings)
    except WhichfluenceError as error:
        st.error(sentence(error), icon=":material/error:")
        st.stop()
    if isinstance(found, Waiting):
        job_panel.wait(found)
    names = labels.numbered(labels.short(scorings))
    compare_panel.matrix(found, names, metric, pair)

st.divider()
specification_list.OPENED.boxes(names, pair, "specification")
compare_panel.verdict(found, pair)
compare_panel.questions(found, names, pair)
compare_panel.numbers(found, pair)
with guarded("The explanation"):
    explanation_panel.show(found, pair)
with guarded("The check by trained subsets"):
    datamodel_panel.show(found, names)

query = compare_panel.query_picker(found, metric, pair)
ranked = comparisons.pair(found, *pair)
first, second = (names[place] for place in pair)
plane.take(found, ranked, (first, second), query)
compare_panel.take_change()
left, right = st.columns(2, gap="large")
with left:
    plane.scatter(found, ranked, pair, (first, second), query)
    plane.fields(found)
with right:
    compare_panel.changes(found, ranked, pair, names, query)
with guarded("The training example"):
    plane.card(found, query)
with st.columns(2, gap="large")[0]:
    compare_panel.spread(found, pair, names, metric)

brought = None
with guarded("What was brought"):
    brought = bring_panel.show(found, names)
with guarded("What keeps this comparison"):
    saved_panel.keep(found, names, pair, brought, query)
