"""Examples: the training examples that matter most for one query, under up to three specifications side by side."""

import streamlit as st

from app.examples import data as example_data
from app.examples import panel as example_panel
from app.examples import self_influence as self_influence_panel
from app.examples import what_if as what_if_panel
from app.widgets.examples import cards, record_text, selection
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import pickers
from app.widgets.words import chips, glossary, labels


def main() -> None:
    st.title("Examples")
    st.html(cards.STYLE)
    st.html(record_text.STYLE)
    glossary.lead("Which training examples matter for this prediction? It depends on what you ask.")
    source, scorings = pickers.source(), example_panel.specifications()
    drawn = job_panel.ready(desk().drawn(source))
    query = example_panel.query_picker(drawn, scorings)
    st.divider()
    n = example_panel.count()
    example_panel.heads(scorings, query)
    count = desk().candidate_count(source, scorings, pickers.optima_candidates())
    found = job_panel.ready(desk().scores(source, scorings, count))
    row = example_panel.opened(found)
    shown = found[:example_panel.SHOWN_SPECIFICATIONS]
    example_panel.legend(len(shown) > 1, drawn.dataset.records is not None)
    names = labels.numbered(labels.short(scorings))
    listed = example_data.columns(drawn, shown, query.place, n)
    example_panel.columns(drawn, shown, listed, names, n)
    example_panel.whole_ranking(drawn, found, names, query,
                                source.model_copy(update={"n_candidates": count}))
    chips.note(f"seed {source.seed} · {drawn.problem.n:,} training examples · {len(found[0].candidates):,} of them "
               f"candidates · {len(drawn.problem.queries)} queries")
    selection.fields(drawn.dataset, drawn.sample)
    selection.shown(drawn.dataset, drawn.sample)
    st.divider()
    with guarded("Self-influence"):
        self_influence_panel.show(drawn, source, scorings, names, count, n)
    st.divider()
    with guarded("What if all of these?"):
        what_if_panel.show(drawn, source, shown, listed, names, query)
    if row is not None:
        example_panel.detail(drawn, query, row, found)


main()
