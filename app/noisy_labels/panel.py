"""The parts of the Noisy labels page around its views, and the first view: what detection can be measured."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.noisy_labels import agreement, data, how_many, state
from app.noisy_labels import detection as detections
from app.noisy_labels.question import question
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary, labels
from app.widgets.words.plain_text import plain
from engine.desk import noisy_labels as searches
from engine.desk.datasets import title
from engine.desk.noisy_labels import IN_DOUBT, HeldOut, NoisyData, NoisySource, Pair, Scored, coverage, fault, judge

WHY_NOT = ("It is unknown which labels of these data are wrong, so detection cannot be "
           "measured. The labels are ranked by suspicion: review the top of the ranking on the review desk. To measure "
           "detection, provide flags: an array `flags` in the npz, or a file `wrong_labels.txt` in the folder.")


def ask(source: NoisySource, sample: NoisyData) -> None:
    """Before the scores are there: what would be done and how long it takes, or how far it is, with what is known
    already."""
    waiting = searches.under_way(desk(), source)
    if waiting is not None:
        held = how_many.show(source, sample)
        job_panel.watch(waiting)
        if held is not None:
            how_many.first(sample, held)
        st.stop()
    with st.container(border=True):
        wrong = f", {sample.corrupted_count:,} of them corrupted" if sample.corrupted_count else ", as given"
        glossary.markdown(f"**Search {len(sample.evidence.y):,} labels of {title(source.dataset)}**{wrong}.")
        glossary.caption(
            f"{plain(labels.model_heading(source.model))}: it is trained on the labels as "
            f"given{f', for {source.recipe.epochs} epochs' if source.learner.passes else ''}; every method then ranks "
            f"them against {'the labels that a model was not trained on' if source.in_turn else 'trusted examples'}. "
            f"It takes {data.search_time(source)}. You can close the browser meanwhile.")
        origin(sample, st.container())
        st.button("Find suspicious labels", type="primary", key="find", icon=":material/search:",
                  on_click=job_panel.act, args=(searches.start_search, desk(), source))
    st.code(searches.command(source), language="bash", wrap_lines=True)


def origin(sample: NoisyData, above: DeltaGenerator) -> None:
    """Where the trusted examples come from; a warning, `above`, where their own labels are in doubt."""
    if sample.source.trusted_from == IN_DOUBT:
        above.warning(sample.trusted_origin, icon=":material/help:")
    else:
        glossary.caption(sample.trusted_origin)
    if sample.source.is_own:
        glossary.caption(coverage(sample))


def judged(sample: NoisyData, scored: Scored, held: HeldOut | None, above: DeltaGenerator) -> None:
    """How good the model is that judges; a warning, `above`, where that may be little above chance, with what is at
    fault."""
    judgement = judge(sample, scored.facts["test_accuracy"])
    if judgement is None:
        return
    at_fault = fault(judgement, held) if held is not None else ""
    if judgement.is_weak:
        above.warning(f"{judgement.measured} {at_fault}" if at_fault else judgement.sentence, icon=":material/balance:")
    else:
        glossary.caption(judgement.sentence)


def measured(sample: NoisyData) -> bool:
    """Whether it is known of some labels that they are wrong, so that detection can be measured."""
    return sample.flags is not None and bool(sample.flags.noisy.any())


def why_not() -> None:
    """Says why detection is not measured."""
    st.info(WHY_NOT, icon=":material/help:")


def detection(source: NoisySource, sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """Precision, recall and the table of all pairs, and how far their rankings agree."""
    detections.show(source, sample, scored, pair)
    agreement.show(source, sample, scored, pair)


def pair(pairs: Sequence[Pair]) -> Pair:
    """Method and trusted behavior, and the question that they ask."""
    left, right = st.columns([1, 2], gap="large", vertical_alignment="center")
    with left:
        chosen = state.pair(pairs)
    with right:
        glossary.html(question(chosen))
    return chosen


def facts(source: NoisySource, scored: Scored) -> None:
    """What was trained, and how well."""
    known = scored.facts
    measured_on = "examples out of fold, labels as given" if source.in_turn else "test examples"
    glossary.caption(
        f"{plain(labels.model_heading(source.model))} · {known['training']:,} training labels · "
        f"{known['trusted']:,} trusted examples · {known['test']:,} {measured_on}, "
        f"{known['test_accuracy']:.1%} right · the model agrees with {known['observed_accuracy']:.1%} of the labels it "
        "was trained on · "
        f"scores read {known['parameters_scored']:,} parameters · {known['device']}")
