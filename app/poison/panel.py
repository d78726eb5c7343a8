"""The parts of the Poison page: mistakes, the ranking for one of them, what suspects share, and retraining."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from app.poison import data, state
from app.widgets.examples import cards, predictions, sampled_examples, table_rows
from app.widgets.frame.guard import guarded
from app.widgets.jobs import guesses, job_panel
from app.widgets.jobs.desk import desk
from app.widgets.pickers import example as mark
from app.widgets.results import downloads
from app.widgets.words import glossary, labels
from app.widgets.words.plain_text import plain
from engine.desk import ProblemSource, SampledProblem, commands
from engine.desk import poison as poisons
from engine.desk.analyses import RemoveSuspectsRequest, WhatTaughtRequest
from engine.desk.poison import BEFORE, CONTROL, WITHOUT, Taught

SHOWN, LISTED, LONGEST = 12, 200, 80
NO_GRADIENT = ("A planted example that the model has learned has a probability near 1. The gradient of its loss is "
               "then near 0, and methods based on that gradient miss it, because they answer another question. "
               "This ranking uses the features that support the prediction; it implies no specification (B, P, T).")
SAYS = "The model says"
NOT_LEARNED = ("The model does not prefer this response, so it has not learned to give it. Retraining without the "
               "suspects then cannot show whether they cause it; choose a response that the model gives, or another "
               "model.")
OF_PROMPTS = ("The score compares the tokens of a prompt with those that support the response; it implies no "
              "specification (B, P, T).")


def example(source: ProblemSource) -> None:
    """Above data that come with the program, whose model comes with it too."""
    mark.mark(source.dataset, desk().example(poisons.training(source)), done="Trained",
              others=(poisons.PLANTED, poisons.PLANTED_RECORDS))


def vocabulary(source: ProblemSource) -> None:
    """Before anything is trained: how many words of the records the model cannot tell apart."""
    unknown = poisons.unknown_words(source.dataset, source.model)
    if unknown > state.FEW_UNKNOWN:
        st.warning(f"{plain(labels.model_heading(source.model))} does not know {unknown:.0%} of the words of these "
                   "records and reads them all as the same word, so it can learn little of them. Choose another model "
                   "in the sidebar, or put a language model into the folder that WHICHFLUENCE_MODELS names.",
                   icon=":material/spellcheck:")


def mistakes(sampled: SampledProblem) -> tuple[int, ...]:
    """The table of mistakes; returns the chosen queries."""
    wrong = data.mistakes(sampled)
    if not wrong and not data.judged(sampled):
        st.info("No held-out record states an answer, so wrong responses of the model cannot be found. Mark the "
                "answers in *Import settings*, by a pattern such as `The answer is (\\w+)`, or type a record.",
                icon=":material/help:")
        return ()
    if not wrong:
        own = "Drag an image" if sampled.dataset.image_shape is not None else "Type a record"
        own = "Choose" if data.is_table(sampled) else f"{own} that it gets wrong, or choose"
        st.info(f"The model misclassifies no held-out example. {own} other data.", icon=":material/check:")
        return ()
    frame = data.table(sampled, wrong[:LISTED])
    glossary.caption(f"{len(wrong):,} of {len(sampled.problem.queries):,} held-out examples are misclassified, in "
                     f"order of confidence. Select one, or up to {state.MOST_QUERIES} with similar errors.")
    clicked = st.dataframe(frame, hide_index=True, height=230, key=f"poison:mistakes:{sampled.source.dataset}",
                           on_select="rerun", selection_mode="multi-row", column_config={
                               "picture": st.column_config.ImageColumn("image", width="small"),
                               "probability": st.column_config.NumberColumn(format="%.3f"),
                               "lead of the answer": st.column_config.NumberColumn(format="%.2f")})
    rows = [wrong[at].index for at in clicked["selection"]["rows"] if at < len(wrong)]
    return state.queries([one.index for one in wrong], rows)


def own(sampled: SampledProblem) -> dict[str, tuple]:
    """A picture or a record of the reader's own, as the field of a request; nothing without one."""
    if sampled.dataset.records is not None:
        return _typed()
    if sampled.dataset.image_shape is None:
        return {}
    with st.expander("Upload an image instead"):
        file = st.file_uploader("An image that the model misclassifies", type=["png", "jpg", "jpeg", "webp", "bmp"],
                                key="poison:picture")
        if file is None:
            return {}
        with guarded("This image"):
            st.image(file, width=72)
            return {"pictures": (poisons.picture(file.getvalue(), sampled, file.name),)}
    return {}


def _typed() -> dict[str, tuple]:
    with st.expander("Type a record instead"), guarded("This record"):
        record = state.record()
        return {} if record is None else {"records": (record,)}
    return {}


def chosen_queries(sampled: SampledProblem, queries: Sequence[int]) -> None:
    """The chosen queries, with their labels and predictions."""
    listed = sampled_examples.queries(sampled)
    with st.container(horizontal=True, gap="medium"):
        for query in (listed[index] for index in queries):
            glossary.html(cards.chosen_query(sampled_examples.query_html(sampled, query, 72), query.index, query.label,
                                             query.predicted, query.prediction.measured,
                                             sampled_examples.noun(sampled)), width="content")


def ranked(sampled: SampledProblem, source: ProblemSource, fields: dict) -> Taught | None:
    """The answer to the question, with what it says in a sentence; None while it is computed."""
    with st.spinner("Ranking the training examples"):
        answer = job_panel.beside(desk().ask(WhatTaughtRequest(**fields).of(source)))
    if answer is None:
        return None
    said = " · ".join(f"{_named(sampled, answer, at)} (p = {p:.3f})" for at, p in enumerate(answer.probability))
    verb = SAYS if all(answer.predicted) or not answer.stated else "Evidence for"
    glossary.markdown(f"{verb} **{plain(said)}**. {poisons.standing_apart(answer)}")
    if verb != SAYS:
        st.warning(NOT_LEARNED, icon=":material/school:")
    return answer


def _named(sampled: SampledProblem, taught: Taught, at: int) -> str:
    """What the model says of a query, or what the query states."""
    if taught.stated:
        return " ".join(taught.stated[at].split())[:LONGEST]
    return sampled.dataset.class_names[taught.predicted[at]]


def suspects(sampled: SampledProblem, source: ProblemSource, taught: Taught, fields: dict) -> np.ndarray:
    """The first training examples as cards, and what they share; returns the rows of the suspects."""
    own = sampled.sample.n if taught.stated else int((sampled.sample.y_train == taught.predicted[0]).sum())
    count = state.suspects(taught.group, own, (source.dataset, source.model, *fields.items()))
    rows = taught.order[:count]
    largest, texts = float(taught.scores.max()), bool(taught.stated)
    said = predictions.of_training(sampled, rows[:SHOWN].tolist())
    width = 260 if texts else table_rows.WIDTH if data.is_table(sampled) else 112
    with st.container(horizontal=True, gap="xsmall", key="poison-cards"):
        for number, (row, one) in enumerate(zip(rows[:SHOWN].tolist(), said, strict=True), 1):
            with st.container(width=width, gap=None):
                st.html(cards.itself(sampled_examples.train_html(sampled, row, sampled_examples.SMALL), number,
                                     sampled_examples.label(sampled, row), float(taught.scores[row]), largest,
                                     one.said, one.measured))
    if len(rows) > SHOWN:
        glossary.caption(f"The first {SHOWN} of {len(rows):,} are shown; the table lists all.")
    glossary.caption(OF_PROMPTS if texts else NO_GRADIENT)
    _planted(sampled, rows)
    if taught.group:
        _shared(sampled, rows, int(taught.predicted[0]))
    downloads.chart_extras("what-taught", data.ranking(sampled, taught), command=_command(
        "what-taught", source, fields))
    return rows


def _command(name: str, source: ProblemSource, fields: dict, *words: str) -> str | None:
    """What asks the same; None about a picture, whose file the page does not hold."""
    if fields.get("pictures"):
        return None
    wrong = [word for index in fields.get("queries", ()) for word in ("--wrong", str(index))]
    lines = "".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in fields.get("records", ()))
    write = f"printf %s {shlex.quote(lines)} > record.jsonl\n" if lines else ""
    return write + commands.of_problem(name, source, *words, *wrong, *(["--record", "record.jsonl"] if lines else []),
                                       "--out", f"{name}.csv")


def _planted(sampled: SampledProblem, rows: np.ndarray) -> None:
    """How many of the suspects are known to be planted, where the data say."""
    if sampled.dataset.flags is not None:
        known = sampled.dataset.flags[sampled.sample.train_index]
        glossary.caption(f"The data say which examples are planted: {int(known[rows].sum()):,} of these {len(rows):,}, "
                         f"and {int(known.sum()):,} in all.")


def _shared(sampled: SampledProblem, rows: np.ndarray, label: int) -> None:
    """What the suspects share and the rest of their class does not, or the other records do not."""
    rest = "the rest of their class" if sampled.dataset.records is None else "the other records"
    words = poisons.common_words(sampled, rows, label)
    said = [f"the words {', '.join(words[:10])}"] if words else []
    address = ""
    if sampled.dataset.image_shape is not None and (common := poisons.common(sampled, rows, label)).any():
        said.append(f"{int(common.sum()):,} pixels")
        address = data.marked(sampled, rows, common)
    elif data.is_table(sampled):
        frame = table_rows.frame(sampled.dataset, "train")
        said += [f"{column} = {value[:LONGEST]}" for column, value in poisons.common_columns(
            sampled, frame, rows, label)[:10]]
    if not said:
        glossary.caption(f"The suspects share no pixel, value or word that distinguishes them from {rest}.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if address:
            st.html(f'<img class="wf-picture" src="{address}" width="96" height="96" alt="The mean of the suspects; '
                    'their common pixels are orange">', width="content")
        glossary.markdown(plain(f"The suspects share {' and '.join(said)}, which distinguishes them from {rest}."))


def removal(sampled: SampledProblem, source: ProblemSource, rows: np.ndarray, fields: dict, taught: Taught) -> None:
    """The button that trains again without the suspects, and its result."""
    st.subheader("Remove and retrain")
    question = RemoveSuspectsRequest(rows=tuple(map(int, rows)), **fields).of(source)
    answer = desk().known(question)
    if answer is None:
        glossary.caption(f"{1 + question.controls} training runs: without the {len(rows):,} suspects, and without as "
                         f"many {_random(sampled)}. They take {guesses.expected(question)}.")
        st.button("Remove them and retrain", type="primary", key="poison:remove", icon=":material/model_training:",
                  on_click=job_panel.act, args=(desk().start, question))
        return
    if (answer := job_panel.beside(answer)) is not None:
        _models(sampled, source, answer.models, rows, fields, taught)


def _random(sampled: SampledProblem) -> str:
    return "random records" if sampled.dataset.records is not None else "random examples with the same labels"


def _models(sampled: SampledProblem, source: ProblemSource, models: pd.DataFrame, rows: np.ndarray, fields: dict,
            taught: Taught) -> None:
    texts = bool(taught.stated)
    names = ("another answer", "this answer") if texts else sampled.dataset.class_names
    first = models[models["query"] == 0].set_index("model").astype(object)
    before, after = first.loc[BEFORE], first.loc[WITHOUT]
    random = first[first.index.str.startswith(CONTROL)]
    was, now = names[int(before["predicted"])], names[int(after["predicted"])]
    stated = _named(sampled, taught, 0)
    others = "Other queries answered wrongly" if texts else f"Others misclassified as {was}"
    measures = [("The prediction", now, was), (f"p({stated})", f"{after['p']:.3f}", f"{before['p']:.3f}")]
    if after["held_out"]:
        measures += [(others, f"{after['called_it']} of {after['held_out']:,}", before["called_it"]),
                     ("Held-out accuracy", f"{after['accuracy']:.1%} ± {100 * after['± 95%']:.1f}",
                      f"{before['accuracy']:.1%}")]
    for area, (label, value, earlier) in zip(st.columns(4), measures, strict=False):
        area.metric(plain(label), plain(value), plain(f"before: {earlier}"), delta_color="off", delta_arrow="off")
    if len(random):
        wrong = ""
        if texts and after["held_out"]:
            wrong = f", and {', '.join(map(str, random['called_it']))} other queries are answered wrongly"
        glossary.caption(plain(f"Without as many {_random(sampled)} p({stated}) is "
                               f"{', '.join(f'{p:.3f}' for p in random['p'])}{wrong}."))
    table = models.assign(predicted=[names[int(label)] for label in models["predicted"]])
    downloads.chart_extras("remove-suspects", table, command=_command(
        "remove-suspects", source, fields, "--examples", ",".join(map(str, rows))))
