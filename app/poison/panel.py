"""The parts of the Poison page: mistakes, the ranking for one of them, what suspects share, and retraining."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.poison import data, state
from app.widgets.examples import cards, predictions, sampled_examples
from app.widgets.frame.guard import guarded
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import example as mark
from app.widgets.results import downloads
from app.widgets.words import glossary
from app.widgets.words.plain_text import plain
from engine.desk import ProblemSource, SampledProblem, commands
from engine.desk import poison as poisons
from engine.desk.analyses import RemoveSuspectsRequest, WhatTaughtRequest
from engine.desk.poison import BEFORE, CONTROL, WITHOUT, Taught

SHOWN, LISTED = 12, 200
NO_GRADIENT = ("A planted example that the model has learned has a probability near 1. The gradient of its loss is "
               "then near 0, and methods that read that gradient pass it over: that is their question, not an error. "
               "This ranking reads the features that speak for the prediction; it implies no specification (B, P, T).")


def example(source: ProblemSource) -> None:
    """Above data that come with the program, whose model comes with it too."""
    mark.mark(source.dataset, desk().example(poisons.training(source)), texts=False, done="Trained",
              others=(poisons.PLANTED,))


def mistakes(sampled: SampledProblem) -> tuple[int, ...]:
    """The table of mistakes; returns the chosen queries."""
    wrong = data.mistakes(sampled)
    if not wrong:
        st.info("The model gets every held-out example right. Drag a picture that it gets wrong, or choose other data.",
                icon=":material/check:")
        return ()
    frame = data.table(sampled, wrong[:LISTED])
    glossary.caption(f"{len(wrong):,} of {len(sampled.problem.queries):,} held-out examples are wrong, the surest "
                     f"first. Tick one, or up to {state.MOST_QUERIES} that go wrong alike.")
    clicked = st.dataframe(frame, hide_index=True, height=230, key=f"poison:mistakes:{sampled.source.dataset}",
                           on_select="rerun", selection_mode="multi-row", column_config={
                               "picture": st.column_config.ImageColumn("picture", width="small"),
                               "probability": st.column_config.NumberColumn(format="%.3f")})
    rows = [wrong[at].index for at in clicked["selection"]["rows"] if at < len(wrong)]
    return state.queries([one.index for one in wrong], rows)


def dragged(sampled: SampledProblem) -> tuple[tuple[float, ...], ...]:
    """A picture of the reader's own, as the model takes it; none without one."""
    if sampled.dataset.image_shape is None:
        return ()
    with st.expander("Drag a picture instead"):
        file = st.file_uploader("A picture that the model gets wrong", type=["png", "jpg", "jpeg", "webp", "bmp"],
                                key="poison:picture")
        if file is None:
            return ()
        with guarded("This picture"):
            return (poisons.picture(file.getvalue(), sampled, file.name),)
    return ()


def chosen_queries(sampled: SampledProblem, queries: Sequence[int]) -> None:
    """The chosen queries, with their labels and predictions."""
    listed = sampled_examples.queries(sampled)
    with st.container(horizontal=True, gap="medium"):
        for query in (listed[index] for index in queries):
            glossary.html(cards.chosen_query(sampled_examples.query_html(sampled, query, 72), query.index, query.label,
                                             query.predicted, query.prediction.measured), width="content")


def ranked(sampled: SampledProblem, source: ProblemSource, fields: dict) -> Taught | None:
    """The answer to the question, with what it says in a sentence; None while it is computed."""
    with st.spinner("Ranking the training examples"):
        answer = job_panel.beside(desk().ask(WhatTaughtRequest(**fields).of(source)))
    if answer is None:
        return None
    names = sampled.dataset.class_names
    said = " · ".join(f"{names[label]} (p = {p:.3f})" for label, p in zip(answer.predicted, answer.probability,
                                                                          strict=True))
    glossary.markdown(f"The model says **{plain(said)}**. {poisons.standing_apart(answer)}")
    return answer


def suspects(sampled: SampledProblem, source: ProblemSource, taught: Taught, fields: dict) -> np.ndarray:
    """The first training examples as cards, and what they share; returns the rows of the suspects."""
    own = int((sampled.sample.y_train == taught.predicted[0]).sum())
    count = state.suspects(taught.group, own)
    rows = taught.order[:count]
    largest = float(taught.scores.max())
    said = predictions.of_training(sampled, rows[:SHOWN].tolist())
    with st.container(horizontal=True, gap="xsmall", key="poison-cards"):
        for number, (row, one) in enumerate(zip(rows[:SHOWN].tolist(), said, strict=True), 1):
            with st.container(width=112, gap=None):
                st.html(cards.itself(sampled_examples.train_html(sampled, row, sampled_examples.SMALL), number,
                                     sampled_examples.label(sampled, row), float(taught.scores[row]), largest,
                                     one.said, one.measured))
    glossary.caption(NO_GRADIENT)
    _planted(sampled, rows)
    if taught.group:
        _shared(sampled, rows, int(taught.predicted[0]))
    downloads.chart_extras("what-taught", data.ranking(sampled, taught), command=None if fields.get("pictures") else (
        commands.of_problem("what-taught", source, *_of_queries(fields["queries"]), "--out", "what-taught.csv")))
    return rows


def _of_queries(queries: Sequence[int]) -> list[str]:
    return [word for index in queries for word in ("--wrong", str(index))]


def _planted(sampled: SampledProblem, rows: np.ndarray) -> None:
    """How many of the suspects are known to be planted, where the data say."""
    if sampled.dataset.flags is not None:
        known = sampled.dataset.flags[sampled.sample.train_index]
        glossary.caption(f"The data say which examples are planted: {int(known[rows].sum()):,} of these {len(rows):,}, "
                         f"and {int(known.sum()):,} in all.")


def _shared(sampled: SampledProblem, rows: np.ndarray, label: int) -> None:
    """What the suspects share and the rest of their class does not."""
    common = poisons.common(sampled, rows, label)
    words = poisons.common_words(sampled, rows, label)
    if not common.any() and not words:
        glossary.caption("The suspects share no pixel, column or word that the rest of their class lacks.")
        return
    said = [f"the words {', '.join(words[:10])}"] if words else []
    if common.any():
        what = "pixels" if sampled.dataset.image_shape is not None else "columns"
        listed = "" if what == "pixels" else ": " + ", ".join(f"x{index}" for index in np.flatnonzero(common)[:10])
        said.append(f"{int(common.sum()):,} {what}{listed}")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if common.any() and (address := data.marked(sampled, rows, common)):
            st.html(f'<img class="wf-picture" src="{address}" width="96" height="96" alt="The mean of the suspects; '
                    'their common pixels are orange">', width="content")
        glossary.markdown(plain(f"The suspects share {' and '.join(said)} that the rest of their class does not have."))


def removal(sampled: SampledProblem, source: ProblemSource, rows: np.ndarray, fields: dict) -> None:
    """The button that trains again without the suspects, and its result."""
    st.subheader("Remove and retrain")
    question = RemoveSuspectsRequest(rows=tuple(map(int, rows)), **fields).of(source)
    answer = desk().known(question)
    if answer is None:
        glossary.caption(f"{1 + question.controls} trainings: without the {len(rows):,} suspects, and without as many "
                         "random examples of the same labels.")
        st.button("Remove them and train again", type="primary", key="poison:remove", icon=":material/model_training:",
                  on_click=job_panel.act, args=(desk().start, question))
        return
    if (answer := job_panel.beside(answer)) is not None:
        _models(sampled, source, answer.models, rows, fields)


def _models(sampled: SampledProblem, source: ProblemSource, models: pd.DataFrame, rows: np.ndarray, fields: dict
            ) -> None:
    names = sampled.dataset.class_names
    first = models[models["query"] == 0].set_index("model").astype(object)
    before, after = first.loc[BEFORE], first.loc[WITHOUT]
    random = first[first.index.str.startswith(CONTROL)]
    was, now = names[int(before["predicted"])], names[int(after["predicted"])]
    measures = (("The prediction", now, was), (f"p({was})", f"{after['p']:.3f}", f"{before['p']:.3f}"),
                (f"Others wrongly called {was}", f"{after['called_it']} of {after['held_out']:,}", before["called_it"]),
                ("Held-out accuracy", f"{after['accuracy']:.1%} ± {100 * after['± 95%']:.1f}",
                 f"{before['accuracy']:.1%}"))
    for area, (label, value, earlier) in zip(st.columns(4), measures, strict=True):
        area.metric(plain(label), plain(value), plain(f"before: {earlier}"), delta_color="off", delta_arrow="off")
    if len(random):
        glossary.caption(plain(f"Without as many random examples of the same labels p({was}) is "
                               f"{', '.join(f'{p:.3f}' for p in random['p'])}."))
    table = models.assign(predicted=[names[int(label)] for label in models["predicted"]])
    text = ",".join(map(str, rows))
    downloads.chart_extras("remove-suspects", table, command=None if fields.get("pictures") else commands.of_problem(
        "remove-suspects", source, "--examples", text, *_of_queries(fields["queries"]), "--out", "remove-suspects.csv"))
