"""Noisy labels: find suspicious training labels, look at them, and see what removing or correcting them does."""

import streamlit as st

from app.noisy_labels import data as noisy_runs
from app.noisy_labels import panel as noisy_panel
from app.noisy_labels import review_desk, what_if
from app.noisy_labels import source as noisy_source
from app.widgets import choice, glossary, labels

VIEWS = {"detection": "Detection", "desk": "Review desk", "whatif": "What if"}


def main() -> None:
    st.title("Noisy labels")
    glossary.lead("Which training labels are wrong? A method ranks them by how much they seem to lower a behavior of "
                  "trusted examples; which behavior, and by which process, is for you to choose.")
    source = noisy_source.picker()
    drawn = noisy_runs.drawn(source)
    noisy_panel.skipped(drawn)
    scored = noisy_runs.scored(source)
    if scored is None:
        noisy_panel.ask(source, drawn)
        return
    pair = noisy_panel.pair_picker(list(scored.suspicion))
    key = choice.bound("view", "detection", choice.from_options(list(VIEWS)))
    view = st.segmented_control("View", list(VIEWS), key=key, required=True, format_func=VIEWS.get,
                                label_visibility="collapsed")
    choice.keep("view", view)
    if view == "detection":
        noisy_panel.detection(source, drawn, scored, pair)
    elif view == "desk":
        review_desk.show(drawn, scored, pair)
    else:
        what_if.show(source, drawn, scored, pair)
    facts = scored.facts
    st.divider()
    glossary.caption(
        f"{labels.model_heading(source.model)} · {facts['training']:,} training labels · "
        f"{facts['trusted']:,} trusted examples · {facts['test']:,} test examples, {facts['test_accuracy']:.1%} "
        f"right · the model agrees with {facts['observed_accuracy']:.1%} of the labels it was trained on · "
        f"scores read {facts['parameters_scored']:,} parameters · {facts['device']}")


main()
