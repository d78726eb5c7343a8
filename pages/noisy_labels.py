"""Noisy labels: find suspicious training labels, look at them, and see what removing or correcting them does."""

import streamlit as st

from app.noisy_labels import (
    agreement,
    benchmark,
    external,
    how_many,
    own_data,
    panel,
    review_desk,
    state,
    trial,
    verified,
    what_if,
)
from app.widgets.jobs.desk import desk
from app.widgets.pickers import example
from app.widgets.words import glossary
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import NoisyData, NoisySource, Pair, Scored


def main() -> None:
    st.title("Noisy labels")
    glossary.lead("Which training labels are wrong? A method ranks them by how much they lower a behavior of trusted "
                  "examples: log-likelihood, logit or margin. You choose the behavior and the training process.",
                  "wf-noisy-lead")
    source = state.source()
    scored = searches.scored(desk(), source)
    example.mark(source.dataset, desk().example(searches.SuspicionRequest(source=source)), texts=False)
    search = st.container()  # the button that starts the search comes before how the data were read
    own_data.show(source, scored is not None or searches.under_way(desk(), source) is not None)
    with st.spinner("Reading the data"):
        sample = searches.sampled(desk(), source)
    verified.carry(sample)
    if scored is None:
        with search:
            panel.ask(source, sample)
        return
    measured = panel.measured(sample)
    methods, scored = scored, external.joined(sample, scored if measured else trial.weighed(source, scored))
    state.take_click([one.title for one in scored.suspicion])
    pair = panel.pair(list(scored.suspicion))
    above, views, notes = st.container(), st.container(), st.container()
    with above:
        held = None if measured else how_many.show(source, sample)
    with views:
        shown(source, sample, scored, pair)
    with notes:
        if measured:
            held = how_many.show(source, sample)
        else:
            trial.show(source, scored, pair)
            panel.why_not()
        verified.show(sample, held)
        benchmark.show(own=not measured)
        panel.origin(sample, above)
        panel.judged(sample, scored, held, above)
    st.divider()
    external.show(sample, methods)
    panel.facts(source, scored)


def shown(source: NoisySource, sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """The chosen view."""
    view = state.view(panel.measured(sample))
    if view == "detection":
        panel.detection(source, sample, scored, pair)
    elif view == "agreement":
        agreement.show(source, sample, scored, pair)
    elif view == "desk":
        review_desk.show(sample, scored, pair)
    else:
        what_if.show(source, sample, scored, pair)


main()
