"""Compare: pick specifications, see where their rankings part, and why."""

import streamlit as st

from app.compare import bring as bring_panel
from app.compare import data as comparisons
from app.compare import datamodels as datamodel_panel
from app.compare import editor, grid, noise_floor, plane
from app.compare import explanation as explanation_panel
from app.compare import panel as compare_panel
from app.compare import queries as chosen_queries
from app.compare import saved as saved_panel
from app.compare import spot_check as spot_check_panel
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.pickers import new_picker, pickers, specification_list
from app.widgets.words import labels
from engine.desk import Waiting


def import_scores(candidates: int | None = None) -> None:
    """The panel for scores of other programs, which stands at the foot of the page whatever it shows."""
    st.divider()
    if not new_picker.outside():
        bring_panel.show(pickers.source(), scorings, candidates)


scorings = specification_list.chosen(begins=pickers.problem_class().convex)
names = labels.numbered(labels.short(scorings))
left, right = st.columns([6, 5] if len(scorings) <= 5 else [8, 5] if len(scorings) <= 8 else [10, 4], gap="medium")
with left:
    st.title("Compare", help="Each specification is one question about influence. A cell shows how far two rankings "
                             "of the training examples agree; open one to see whether they differ in the question, by "
                             "approximation error, or both.")
    bring_panel.notice(scorings)
    specification_list.preset_picker(scorings)
editor.show(scorings)
if len(scorings) < 2:
    with left:
        specification_list.empty(scorings)
        grid.show(scorings, names)
        editor.toolbar(scorings, names)
        new_picker.show(new_picker.applied(pickers.source()))
    import_scores()
    st.stop()

pair = specification_list.chosen_pair(scorings)
with left:
    editor.toolbar(scorings, names)
    metric = compare_panel.metric_switch()
    below = st.container()
    new_picker.show(new_picker.applied(pickers.source()))
compared, refused = None, specification_list.refused(scorings)
with right:
    above = st.container()
    with guarded("The comparison"):
        compared = comparisons.ask(scorings, refused)
    with above:
        specification_list.say_refused(refused)
with below:
    if compared is None or isinstance(compared, Waiting):
        grid.show(scorings, names)
    else:
        floors = noise_floor.known(compared)
        compare_panel.matrix(compared, scorings, names, metric, pair, floors)
        noise_floor.below(floors, compared)
        compare_panel.announce(compared)
        compare_panel.matrix_small_print(compared, [names[row] for row in compared.rows], metric, pair)
if compared is None:
    import_scores()
    st.stop()
dock = right.container(key="wf-dock", gap="small")
with dock:
    if isinstance(compared, Waiting):
        job_panel.wait(compared)
    if compared.waiting is not None:
        job_panel.watch(compared.waiting)
    specification_list.OPENED.boxes(names, pair, "specification", "collapsed")
    opened = set(pair) <= set(compared.rows)
    if not opened:
        st.info(f"This pair is {'being' if compared.waiting else 'not'} computed. Press a cell with a number to open "
                "it.", icon=":material/hourglass:")
if not opened:
    import_scores(compared.candidates)
    st.stop()
names = [names[row] for row in compared.rows]
pair = compared.rows.index(pair[0]), compared.rows.index(pair[1])
with dock:
    compare_panel.verdict(compared, pair)
    noise_floor.beside(compared, floors, metric, pair)
    with guarded("The spot check"):
        spot_check_panel.show(compared, pair)
    compare_panel.questions(compared, names, pair)
    with guarded("The explanation"):
        explanation_panel.show(compared, pair)
        explanation_panel.prepare(compared, pair)

compare_panel.computed(compared, names, pair)
compare_panel.numbers(compared, pair)
chosen_queries.take(compared, metric, pair)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="wf-details"):
    detail = compare_panel.details()
    query = compare_panel.query_picker(compared, metric, pair)
compare_panel.query_text(compared, pair, query)
ranked = comparisons.pair(compared, *pair)
first, second = (names[index] for index in pair)
left, right = st.columns([7, 5], gap="medium")
with left:
    if detail == compare_panel.DOTS:
        dotted = plane.chosen_dots(compared, ranked, (first, second), query)
        plane.scatter(compared, ranked, pair, (first, second), query, dotted)
    elif detail == compare_panel.TOP:
        compare_panel.take_change(compare_panel.CHANGES)
        compare_panel.changes(compared, ranked, pair, names, query)
    elif detail == compare_panel.FLOW:
        compare_panel.take_change(compare_panel.FLOWING)
        compare_panel.flow(compared, names, query)
    else:
        chosen_queries.show(compared, metric, pair)
with right:
    if detail == compare_panel.QUERIES:
        compare_panel.spread(compared, pair, names, metric)
    plane.fields(compared)
    with guarded("The training example"):
        plane.card(compared, query)

if not new_picker.outside():
    st.divider()
    with guarded("The linear datamodeling score"):
        datamodel_panel.show(compared, names)
import_scores(compared.candidates)
with guarded("Save, share or export"):
    saved_panel.keep(compared, names, pair, query)
