"""What a reader may choose for a lesson: another query, other data, another rate; and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.learn import stages
from app.widgets.choices import choice
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from engine.basics.values import short
from engine.desk import ProblemSource, SampledProblem, Waiting, datasets, fitting
from engine.desk.models import SOFTMAX

QUERY, DATA, ETA, RHO = "lesson-query", "lesson-data", "lesson-rate", "lesson-rho"
ETAS, USUAL_ETA = (0.01, 0.1, 0.5, 1.0), 0.1
RHOS, USUAL_RHO = (0.05, 0.1, 0.2, 0.3, 0.4), 0.2
USUAL = "usual"
TRAIN, QUERIES, TEST = 400, 60, 500
SOURCE = ProblemSource(dataset=datasets.FIRST, n_train=TRAIN, n_queries=QUERIES, n_test=TEST,
                       pool=fitting.POOL[datasets.FIRST])
"""The problem for which the sentences of the lessons were written."""


def source() -> ProblemSource:
    """The problem of the lessons: its data are those that the reader chose."""
    name = choice.one(DATA, SOURCE.dataset, choice.from_options(_data()))
    if name == SOURCE.dataset:
        return SOURCE
    train, test = datasets.limits(name)
    return ProblemSource(dataset=name, n_train=min(TRAIN, train), n_queries=min(QUERIES, test),
                         n_test=min(TEST, test), pool=fitting.pool(name, SOFTMAX))


def _data() -> list[str]:
    """Pictures that come with the program, and those that this session uploaded or the program was started with."""
    own = [name for name in (fitting.first_data(), *st.session_state.get("uploads", ())) if fitting.pictures(name)]
    return list(dict.fromkeys([SOURCE.dataset, "digits", *own]))


def query(sample: SampledProblem, usual: int) -> int:
    """Which query a lesson shows: the reader's, else the lesson's `usual` one."""
    queries = range(len(sample.problem.queries))
    chosen = choice.one(QUERY, USUAL, choice.from_options([USUAL, *range(QUERIES)]))
    return usual if chosen == USUAL or chosen not in queries else int(chosen)


def query_name(usual: str) -> str:
    """What a sentence calls that query. usual: how the lesson's own was chosen."""
    chosen = choice.one(QUERY, USUAL, choice.from_options([USUAL, *range(QUERIES)]))
    return usual if chosen == USUAL else f"query {chosen}, your choice"


def eta() -> float:
    """The step size of lessons whose control is another."""
    return choice.one(ETA, USUAL_ETA, choice.from_options(ETAS))


def rho() -> float:
    """The fraction of corrupted labels."""
    return choice.one(RHO, USUAL_RHO, choice.from_options(RHOS))


def show(slug: str, offered: Sequence[str], controls: Sequence[str]) -> None:
    """The choices that a lesson offers, and *Reset*. controls: the names of its own, which go back as well."""
    with st.popover("Your own", icon=":material/tune:"), glossary.folded():
        for name in offered:
            options, title, label = _options(name)
            usual = options[0] if name in (QUERY, DATA) else {ETA: USUAL_ETA, RHO: USUAL_RHO}[name]
            chosen = choice.one(name, usual, choice.from_options(options))
            st.selectbox(label, options, options.index(chosen), format_func=title, key=choice.widget(name),
                         on_change=_take, args=(name,), help=glossary.hint(label))
        if DATA in offered:
            glossary.caption("The takeaway refers to the lesson's own images. Other data may give different results.")
        st.button("Reset the lesson", icon=":material/restart_alt:", on_click=reset, args=(slug, (*offered, *controls)))


def _options(name: str) -> tuple[list[Any], Callable[[Any], str], str]:
    if name == DATA:
        return _data(), datasets.title, "Data"
    if name == ETA:
        return list(ETAS), short, "Step size η"
    if name == RHO:
        return list(RHOS), lambda rate: f"{rate:.0%}", "Fraction of corrupted labels ρ"
    sample = desk().sampled(source())
    count = 0 if isinstance(sample, Waiting) else len(sample.problem.queries)

    def title(query: Any) -> str:
        if query == USUAL or isinstance(sample, Waiting):
            return "the lesson's own"
        return f"query {query}: {sample.dataset.class_names[sample.sample.y_query[query]]}"

    return [USUAL, *range(count)], title, "Query"


def _take(name: str) -> None:
    choice.keep(name, str(st.session_state[choice.widget(name)]))
    if name == DATA:
        choice.forget(QUERY)


def reset(slug: str, names: Sequence[str]) -> None:
    """The lesson as it was: unanswered, with its own query, data, rate and control."""
    for name in names:
        choice.forget(name)
    stages.forget(slug)
    choice.forget(stages.NAME)
