"""Compare: pick specifications, see where their rankings part, and why."""

import streamlit as st

from app.compare import bring as bring_panel
from app.compare import brought_files, editor, grid, noise_floor, plane
from app.compare import data as comparisons
from app.compare import datamodels as datamodel_panel
from app.compare import explanation as explanation_panel
from app.compare import panel as compare_panel
from app.compare import queries as chosen_queries
from app.compare import saved as saved_panel
from app.compare import spot_check as spot_check_panel
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.pickers import pickers, specification_list
from app.widgets.words import labels
from engine.desk import Waiting

scorings = specification_list.chosen(begins=pickers.problem_class().convex)
names = labels.numbered(labels.short(scorings))
left, right = st.columns([6, 5] if len(scorings) <= 5 else [8, 5], gap="medium")
with left:
    st.title("Compare", help="Each specification is one question about influence. A cell says how far two of them rank "
                             "the training examples alike; open one to see whether they ask different questions, or "
                             "one answers less well.")
    brought_files.notice()
    specification_list.preset_picker(scorings)
editor.show(scorings)
if len(scorings) < 2:
    with left:
        specification_list.empty(scorings)
        grid.show(scorings, names)
        editor.toolbar(scorings, names)
    st.stop()

pair = specification_list.chosen_pair(scorings)
with left:
    editor.toolbar(scorings, names)
    metric = compare_panel.metric_switch()
    below = st.container()
found = None
with right, guarded("The comparison"):
    found = comparisons.compared(scorings)
with below:
    if found is None or isinstance(found, Waiting):
        grid.show(scorings, names)
    else:
        floors = noise_floor.known(found)
        compare_panel.matrix(found, names, metric, pair, floors)
        noise_floor.below(floors, found)
        brought_here = st.container(gap="small")
        compare_panel.announce(found)
        compare_panel.matrix_small_print(found, names, metric)
if found is None:
    st.stop()
with right.container(key="wf-dock", gap="small"):
    if isinstance(found, Waiting):
        job_panel.wait(found)
    specification_list.OPENED.boxes(names, pair, "specification", "collapsed")
    compare_panel.verdict(found, pair)
    noise_floor.beside(found, floors, metric, pair)
    with guarded("The spot check"):
        spot_check_panel.show(found, pair)
    compare_panel.questions(found, names, pair)
    with guarded("The explanation"):
        explanation_panel.show(found, pair)
        explanation_panel.prepare(found, pair)

compare_panel.computed(found, names, pair)
compare_panel.numbers(found, pair)
chosen_queries.take(found, metric, pair)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="wf-details"):
    detail = compare_panel.details()
    query = compare_panel.query_picker(found, metric, pair)
compare_panel.asked_words(found, pair, query)
ranked = comparisons.pair(found, *pair)
first, second = (names[place] for place in pair)
left, right = st.columns([7, 5], gap="medium")
with left:
    if detail == compare_panel.DOTS:
        dotted = plane.chosen_dots(found, ranked, (first, second), query)
        plane.scatter(found, ranked, pair, (first, second), query, dotted)
    elif detail == compare_panel.TOP:
        compare_panel.take_change()
        compare_panel.changes(found, ranked, pair, names, query)
    else:
        chosen_queries.show(found, metric, pair)
with right:
    if detail == compare_panel.QUERIES:
        compare_panel.spread(found, pair, names, metric)
    plane.fields(found)
    with guarded("The training example"):
        plane.card(found, query)

st.divider()
with guarded("The check by trained subsets"):
    datamodel_panel.show(found, names)
brought = None
with guarded("What was brought"):
    brought = bring_panel.show(found, names, metric, brought_here)
with guarded("What keeps this comparison"):
    saved_panel.keep(found, names, pair, brought, query)
