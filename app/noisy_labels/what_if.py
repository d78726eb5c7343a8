"""What if the suspicious labels were removed or corrected: the model trained again, accuracy before and after."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from app.charts.draw import draw
from app.charts.precision_recall import accuracies
from app.noisy_labels import state
from app.widgets.choices.selectors import segments
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.basics.csv_text import csv_text
from engine.basics.values import signed
from engine.desk import noisy_labels as searches
from engine.desk.analyses import WRONG, Decision
from engine.desk.noisy_labels import (
    FOLDS,
    NoisyData,
    NoisySource,
    OfTraining,
    Pair,
    Review,
    Scored,
    Truth,
    cleaning,
    consequences,
    truth,
)
from engine.metrics import seed_means

TEST, HELD_OUT = "test", "parts"
MEASURED = {TEST: "Test examples", HELD_OUT: "Held-out corrected labels"}
SAME = ("All training seeds give the same change, so the interval does not show how it would vary on other test "
        "examples.")


def show(source: NoisySource, sample: NoisyData, scored: Scored, pair: Pair) -> None:
    """What is changed, the run that changes it, and its result."""
    left, middle, right = st.columns([1.4, 1.2, 1], gap="large", vertical_alignment="bottom")
    with left:
        action = state.action()
    with middle:
        out_of_fold = _out_of_fold(sample)
    with right:
        seeds = state.seeds()
    decided = _changes(sample, scored, pair, action)
    removed, relabelled = consequences(decided)
    if not removed and not relabelled:
        st.info("No label is marked wrong yet: review some at the review desk, or use the most suspicious ones.",
                icon=":material/rate_review:")
        return
    glossary.markdown(f"**{_words(len(removed), len(relabelled))}** of {len(sample.evidence.y):,} training examples."
                      + _truth(truth(sample.flags, removed, relabelled), len(relabelled)))
    request: OfTraining = (searches.cross_validation if out_of_fold else searches.what_if)(
        source, removed, relabelled, seeds)
    answer = desk().known(request)
    if answer is None:
        _ask(request)
    if (answer := job_panel.beside(answer)) is None:
        return
    _result(answer.accuracy, request.measured(len(sample.y_test)))
    if not out_of_fold:
        _seeds(answer.accuracy, source)
    downloads.chart_extras("what-if", answer.accuracy, charts=["what-if-dots"], command=(
        f"{searches.command(source, 'what-if-labels', 'accuracy.csv')} --changes changes.csv --seeds {seeds}"
        f"{f' --folds {FOLDS}' if out_of_fold else ''}"))
    downloads.file_button("Changed labels (CSV)", lambda: csv_text(cleaning.decided_by_path(sample, decided)),
                          "changes.csv", "text/csv", "changes", help="Input of the command above.")


def _out_of_fold(sample: NoisyData) -> bool:
    """Whether accuracy is measured on held-out parts: where there are no test examples, or as chosen."""
    ways = list(MEASURED) if len(sample.y_test) else [HELD_OUT]
    return segments("measure", "Measured on", ways, ways[0], MEASURED.get, help=(
        "Test examples are verified ones that no model was trained on. Without them, each fold of the examples is "
        "held out in turn, and both models are evaluated on its corrected labels.")) == HELD_OUT


def _ask(request: OfTraining) -> None:
    """How long it takes, and a button."""
    glossary.caption(
        f"{request.trainings} trainings: {guesses.expected(request)}. Everything else is unchanged: seed, settings, "
        "and the batches of the other examples.")
    st.button("Retrain", type="primary", key="what-if", icon=":material/model_training:", on_click=job_panel.act,
              args=(desk().start, request))


def _changes(sample: NoisyData, scored: Scored, pair: Pair, action: str) -> dict[int, Decision]:
    if action == "review":
        return Review(sample).decisions()
    fraction = state.fraction()
    glossary.caption(f"Ranked by {pair.title}.")
    return {int(row): Decision(int(row), WRONG)
            for row in sorted(searches.most_suspicious(scored.suspicion[pair], fraction))}


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


def _result(table: pd.DataFrame, measured: str) -> None:
    """Accuracy before, after and the change, each with its interval, and whether the change may be nothing."""
    rows = table.set_index("what")
    columns = st.columns(3)
    for column, what in zip(columns, ("before", "after"), strict=False):
        column.metric(f"Accuracy {what}", f"{rows.loc[what, 'mean']:.1%}", help=_interval(rows.loc[what]))
    change = rows.loc["change"]
    columns[2].metric("Change", f"{signed(100 * change['mean'], 2, '+')} points", help=_interval(change))
    half = change["ci95"]
    if half == half:
        said = ("The interval includes zero." if abs(change["mean"]) <= half else SAME if half == 0
                else "The interval excludes zero.")
        measured = (f"Change {signed(100 * change['mean'], 2, '+')} ± {100 * half:.2f} percentage points, a 95% "
                    f"interval {measured} {said}")
    else:
        measured = "One training seed, so there is no interval."
    glossary.caption(measured)


def _seeds(table: pd.DataFrame, source: NoisySource) -> None:
    """The accuracies of every seed."""
    rows = table.set_index("what")
    dots = pd.DataFrame([{"what": what, "seed": source.seed + index, "accuracy": value}
                         for what in ("before", "after")
                         for index, value in enumerate(seed_means.split(rows.loc[what, "seed_means"]))])
    draw(accuracies, dots, key="what-if-dots",
         alt=f"Test accuracy before and after, {len(dots) // 2} seeds: from {rows.loc['before', 'mean']:.3f} to "
             f"{rows.loc['after', 'mean']:.3f}.")


def _interval(row: pd.Series) -> str:
    half = row["ci95"]
    return "one seed, no interval" if half != half else f"± {100 * half:.2f} points, 95% interval"
