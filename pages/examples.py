"""Examples: the training examples that matter most for one query, under up to three specifications side by side."""

import streamlit as st

from app.examples import data as example_data
from app.examples import panel as example_panel
from app.examples import self_influence as self_influence_panel
from app.examples import what_if as what_if_panel
from app.widgets.examples import cards, record_text, sampled_examples, selection
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import example, new_picker, pickers
from app.widgets.words import chips, glossary, labels

st.title("Examples")
st.html(cards.STYLE)
st.html(record_text.STYLE)
glossary.lead("Which training examples matter for this prediction? It depends on what you ask.")
source, scorings = new_picker.applied(pickers.source()), example_panel.specifications()
if source.outside:
    new_picker.show(source)
else:
    example.mark(source.dataset)
sampled = job_panel.ready(desk().sampled(source))
above = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="wf-examples-row")
query = example_panel.query_picker(sampled, scorings, above)
n = example_panel.count(above)
example_panel.heads(scorings, query)
count = desk().candidate_count(source, scorings, pickers.optima_candidates())
scored = job_panel.ready(desk().scores(source, scorings, count))
row = example_panel.opened(scored)
shown = scored[:example_panel.SHOWN_SPECIFICATIONS]
names = labels.numbered(labels.short(scorings))
listed = example_data.columns(sampled, shown, query.index, n)
example_panel.columns(sampled, shown, listed, names, n)
example_panel.legend(len(shown) > 1, sampled.dataset.records is not None)
example_panel.whole_ranking(sampled, scored, names, query, source.model_copy(update={"n_candidates": count}))
chips.note(f"seed {source.seed} · {sampled.problem.n:,} training examples · {len(scored[0].candidates):,} "
           f"{f'candidates ({word})' if (word := sampled_examples.mark(source)) else 'of them candidates'} · "
           f"{len(sampled.problem.queries)} queries")
selection.fields(sampled.dataset, sampled.sample)
selection.shown(sampled.dataset, sampled.sample)
if not source.outside:
    new_picker.show(source)
st.divider()
with guarded("Self-influence"):
    self_influence_panel.show(sampled, source, scorings, names, count, n)
if not sampled.sample.new:
    st.divider()
    with guarded("Group influence"):
        what_if_panel.show(sampled, source, shown, listed, names, query)
if row is not None:
    example_panel.detail(sampled, query, row, scored)
