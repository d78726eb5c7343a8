"""What if the suspicious labels were removed or corrected: the model trained again, accuracy before and after."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from app.charts.draw import draw
from app.charts.precision_recall import accuracies
from app.noisy_labels import data, state
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.basics.csv_text import csv_text
from engine.desk import Waiting
from engine.desk import noisy_labels as searches
from engine.desk.noisy_labels import NoisyData, NoisySource, Pair, Review, Scored, Truth, consequences, truth
from engine.metrics import seed_means


def show(source: NoisySource, sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """What is changed, the run that changes it, and its result."""
    if not len(sample.y_test):
        st.info(searches.NOT_MEASURED, icon=":material/help:")
        return
    left, right = st.columns([1.4, 1], gap="large", vertical_alignment="bottom")
    with left:
        action = state.action()
    with right:
        seeds = state.seeds()
    removed, relabelled = _changes(sample, scored, pair, action)
    if not removed and not relabelled:
        st.info("No label has been called wrong yet: decide some at the review desk, or take the most suspicious.",
                icon=":material/rate_review:")
        return
    glossary.markdown(f"**{_words(len(removed), len(relabelled))}** of {len(sample.evidence.y):,} training examples."
                      + _truth(truth(sample.flags, removed, relabelled), len(relabelled)))
    request = searches.what_if(source, removed, relabelled, seeds)
    answer = desk().known(request)
    if not isinstance(answer, searches.WhatIf):
        _ask(source, request, answer)
        return
    _result(answer.accuracy, source, len(sample.y_test), seeds)
    changes = pd.DataFrame({"row": [*removed, *relabelled], "label": ["" for _ in removed] + [
        str(label) for label in relabelled.values()]})
    downloads.file_button("Changed labels (CSV)", partial(csv_text, changes), "changes.csv", "text/csv",
                          "changes", help="What the command above reads.")


def _ask(source: NoisySource, request: searches.WhatIfRequest, waiting: Waiting | None) -> None:
    """How long it takes and a button, or how far it is."""
    if waiting is not None:
        job_panel.watch(waiting)
        return
    glossary.caption(
        f"{2 * request.seeds} trainings: {data.retraining_time(source, 2 * request.seeds)}. "
        "Everything else stays: seed, settings, and the batches of the other examples.")
    st.button("Train again", type="primary", key="what-if", icon=":material/model_training:", on_click=job_panel.act,
              args=(desk().start, request))


def _changes(sample: NoisyData, scored: Scored, pair: Pair, action: str) -> tuple[list[int], dict[int, int]]:
    if action == "review":
        return consequences(Review(sample).decisions())
    fraction = state.fraction()
    glossary.caption(f"Ranked by {pair.title}.")
    return sorted(int(row) for row in searches.most_suspicious(scored.suspicion[pair], fraction)), {}


def _words(removed: int, relabelled: int) -> str:
    texts = [f"{count:,} {what}" for count, what in ((removed, "removed"), (relabelled, "relabelled")) if count]
    return " and ".join(texts)


def _truth(known: Truth | None, relabelled: int) -> str:
    """How many of them are wrong, where that is known."""
    if known is None:
        return ""
    text = f" {known.wrong:,} of these {known.changed:,} labels are known to be wrong."
    if known.restored is not None:
        text += f" {known.restored:,} of {relabelled:,} corrections restore the original label."
    return text


def _result(table: pd.DataFrame, source: NoisySource, n_test: int, seeds: int) -> None:
    rows = table.set_index("what")
    columns = st.columns(3)
    for column, what in zip(columns, ("before", "after"), strict=False):
        column.metric(f"Accuracy {what}", f"{rows.loc[what, 'mean']:.1%}", help=_interval(rows.loc[what]))
    change = rows.loc["change"]
    columns[2].metric("Change", f"{100 * change['mean']:+.2f} points".replace("-", "−"), help=_interval(change))
    _interval_said(change, n_test)
    dots = pd.DataFrame([{"what": what, "seed": source.seed + index, "accuracy": value}
                         for what in ("before", "after")
                         for index, value in enumerate(seed_means.split(rows.loc[what, "seed_means"]))])
    draw(accuracies, dots, key="what-if-dots",
         alt=f"Test accuracy before and after, {len(dots) // 2} seeds: from {rows.loc['before', 'mean']:.3f} to "
             f"{rows.loc['after', 'mean']:.3f}.")
    downloads.chart_extras("what-if", table, command=(
        f"{searches.command(source, 'what-if-labels', 'accuracy.csv')} --changes changes.csv --seeds {seeds}"))


def _interval_said(change: pd.Series, n_test: int) -> None:
    """Whether the change may be nothing."""
    half = change["ci95"]
    if half == half:
        said = ("Within its interval the change may be nothing." if abs(change["mean"]) <= half
                else "The interval leaves out zero.")
        glossary.caption(
            f"Change {100 * change['mean']:+.2f} ± {100 * half:.2f} percentage points, a 95% t-interval over "
            f"{int(change['n_seeds'])} training seeds, paired; {n_test:,} test examples. {said}"
            .replace("-0", "−0"))
    else:
        glossary.caption(f"One training seed, so there is no interval; {n_test:,} test examples.")


def _interval(row: pd.Series) -> str:
    half = row["ci95"]
    return "one seed, no interval" if half != half else f"± {100 * half:.2f} points, 95% t-interval over seeds"
