"""One training record opened: its text with what is known of it marked, and its rank under every behavior."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from app.language import record_html
from app.widgets.examples import record_text
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads
from app.widgets.words import glossary
from engine.desk import Waiting, language
from engine.desk.language import (
    Attributed,
    Ranking,
    RecordMethod,
    Study,
    changed,
    contributions,
)


def show(wanted: Study, tables: Mapping[str, pd.DataFrame], row: int, ranking: Ranking, query: int | None,
         on_desk: bool) -> None:
    """The shaded text on the left, the layers on the right. query: whose scores are shown, if not their mean. on_desk:
    whether the review desk shows the record and its ranks, which then stand here no second time."""
    st.html(record_text.STYLE)
    st.html(record_html.STYLE)
    more = desk().known(wanted.tokens_of(row, query))
    apart = more.tables if isinstance(more, Attributed) else {}
    left, right = st.columns([3, 2], gap="large")
    with left:
        _text(tables, apart, row, ranking, query, on_desk)
        if not apart and not ranking.method.undivided:
            _take_apart(wanted, row, query, more)
    with right:
        if not on_desk:
            _ranks(ranking, tables["records"], row)
        if apart and not ranking.method.undivided:
            _modules(apart["modules"], ranking)


def _text(tables: Mapping[str, pd.DataFrame], apart: Mapping[str, pd.DataFrame], row: int, ranking: Ranking,
          query: int | None, on_desk: bool) -> None:
    """The record with its shaded tokens, and the query with its own where one is chosen. apart: the tables of the score
    taken apart, where that is there; those of a run hold tokens of mean scores."""
    record = tables["records"].iloc[row]
    tokens = apart.get("tokens", tables["tokens"] if query is None else tables["tokens"].iloc[:0])
    own, rest = contributions(tokens, ranking.method.name, ranking.behavior, row)
    if len(own) or not on_desk:
        st.html(record_html.record_html(record, own))
    st.html(record_html.key(len(own) > 0, bool(changed(record)), json.loads(record["marks"])))
    glossary.caption(_shading(ranking.method, own["contribution"], rest))
    if "query_tokens" in apart and query is not None and not ranking.method.undivided:
        of_query, _ = contributions(apart["query_tokens"], ranking.method.name, ranking.behavior, row)
        glossary.markdown(f"**Query {query}**, shaded by what each of its tokens adds to this score")
        st.html(record_html.query_html(tables["queries"].iloc[query], of_query))
        glossary.caption(f"Its tokens together **{of_query['contribution'].sum():+.2e}**, the same score.")
    if len(own):
        downloads.chart_extras(f"tokens-{row}", own[["place", "text", "contribution"]], title="The tokens as a table",
                               quantity=ranking.quantity)


def _modules(modules: pd.DataFrame, ranking: Ranking) -> None:
    """What each layer, and each of its attention heads, adds to the score."""
    own = language.module_parts(modules, ranking.method.name, ranking.behavior)
    layers = own.groupby("layer", sort=False)["contribution"].sum().sort_values(key=abs, ascending=False)
    layers = layers.rename("adds").reset_index()
    look = {"adds": st.column_config.NumberColumn(format="%+.2e", help=ranking.quantity)}
    glossary.markdown(f"**By layer**, together {own['contribution'].sum():+.2e}, the score")
    st.dataframe(layers, hide_index=True, width="stretch", height=210, column_config=look,
                 alt=f"What each of {len(layers)} layers adds to the score of this record")
    with st.expander("By attention head"):
        heads = own.rename(columns={"contribution": "adds"}).assign(
            head=["shared" if head == language.SHARED else str(head) for head in own["head"]])
        st.dataframe(heads, hide_index=True, width="stretch", column_config=look,
                     alt="What each attention head adds to the score of this record")
        glossary.caption("*shared*: an adapter matrix that all heads of its layer use, or a layer without heads.")


def _ranks(ranking: Ranking, records: pd.DataFrame, row: int) -> None:
    ranks, count = ranking.ranks(records).iloc[row], len(records)
    glossary.markdown(f"**Rank under each behavior**, {ranking.method.label}")
    st.dataframe(pd.DataFrame({"behavior": [language.behavior_title(name) for name in ranks.index],
                               "rank": [int(rank) for rank in ranks]}),
                 hide_index=True, width="stretch", alt="Rank of this record under each behavior",
                 column_config={"rank": st.column_config.ProgressColumn(format=f"%d of {count}", min_value=0,
                                                                        max_value=count)})


def _shading(method: RecordMethod, contributions: pd.Series, rest: float) -> str:
    """What the shades mean, or why there are none."""
    if method.undivided:
        return f"No token is shaded. {method.undivided}"
    if contributions.empty:
        return ("For the top and bottom records by mean score, tokens are shaded immediately; for other "
                "records, after their score is decomposed.")
    text = (f"Shading: what each response token adds to this record's {method.label} score, the tokens together "
            f"**{contributions.sum():+.2e}**")
    if not method.preconditioned:
        return f"{text}, which is the score."
    return (f"{text}. The optimizer's momentum, which cannot be assigned to a token, adds {rest:+.2e}; the sum is the "
            "score. Adam's step sizes are fixed at those of the whole record.")


def _take_apart(wanted: Study, row: int, query: int | None, more: Attributed | Waiting | str | None) -> None:
    """A button that takes the score of one record apart, and how far it is."""
    if isinstance(more, Waiting):
        job_panel.watch(more)
    else:
        st.button("Decompose its score", key=f"language:shade:{row}", icon=":material/gradient:",
                  on_click=job_panel.act, args=(desk().start, wanted.tokens_of(row, query)),
                  help="Which tokens, layers and attention heads it comes from. A separate run; the training and "
                       "the gradients are already stored.")
