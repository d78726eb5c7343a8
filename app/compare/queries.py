"""The queries of the open pair as a list of pictures or words, to sort by agreement and to choose from."""

from __future__ import annotations

import hashlib
from math import ceil, floor

import pandas as pd
import streamlit as st

from app.charts.distribution import BRUSHED
from app.compare import data as comparisons
from app.widgets.choices import choice, inputs
from app.widgets.examples import pictures, record_text
from app.widgets.jobs.desk import desk
from app.widgets.words import glossary
from engine.basics.values import signed
from engine.desk.compared import Compared
from engine.metrics.agreement import METRICS

HANDLED = "compare:queries:handled"
PICTURE, QUERY = "picture", "query"
ROW = 44
"""The height of a query in the list."""
BETWEEN, BRUSHED_COUNT, STEP = "between", "compare:queries:drawn", 0.01
"""The choice of a range, how often one was chosen, and what its ends are rounded to, outwards."""


def chart_key(compared: Compared, metric: str, pair: tuple[int, int]) -> str:
    """Of the histogram beside the list. It moves on with every range that is drawn, which the chart then shows as the
    chosen one, wherever it was chosen."""
    return f"compare:spread:{_digest(compared, metric, pair)}:{st.session_state.get(BRUSHED_COUNT, 0)}"


def between(metric: str) -> tuple[float, float] | None:
    """(from, to): the range of agreement whose queries are listed; None for all, and where another metric's is
    chosen."""
    chosen = choice.one(BETWEEN, None, _range)
    return chosen[1:] if chosen is not None and chosen[0] == METRICS[metric].short else None


def show(compared: Compared, metric: str, pair: tuple[int, int]) -> None:
    """The list, those that disagree most first; a chosen row is the query of the page."""
    title, whole, low_high = METRICS[metric].title, _whole(compared, metric, pair), between(metric)
    if low_high is None:
        text = "Select a range in the histogram to list only its queries."
    else:
        low, high = (signed(end, 2) for end in low_high)
        text = f"{len(_listed(compared, metric, pair)):,} of {len(whole):,}, those between {low} and {high}."
    glossary.caption(f"Queries of seed {compared.sources[0].seed}, lowest {title} first. Click a column header to "
                     f"sort, or a row's checkbox to choose its query. {text}")
    listed = _listed(compared, metric, pair)
    if listed.empty:
        st.info(f"No query of this pair has a {title} in this range.", icon=":material/filter_alt:")
        return
    st.dataframe(listed, key=_key(compared, metric, pair), on_select="rerun",
                 selection_mode="single-row", hide_index=True, width="stretch", row_height=ROW,
                 height=min(480, 38 + ROW * len(listed)),
                 column_config={PICTURE: st.column_config.ImageColumn("", width=60),
                                "agreement": st.column_config.NumberColumn(title, format="%.3f")})


def ends(metric: str) -> None:
    """The range as a slider, for the keyboard and for programs; its ends let go of it."""
    key, whole = f"compare:between:{metric}", METRICS[metric].range
    st.session_state[key] = between(metric) or whole
    inputs.slider(f"List queries with {METRICS[metric].title} between", *whole, key=key, step=STEP, format="%.2f",
                  on_change=_moved, args=(key, metric))


def _moved(key: str, metric: str) -> None:
    _choose(metric, *st.session_state[key])


def _choose(metric: str, low: float, high: float) -> None:
    whole = (low, high) == METRICS[metric].range
    choice.keep(BETWEEN, [] if whole else _written(METRICS[metric].short, low, high))
    st.session_state[BRUSHED_COUNT] = st.session_state.get(BRUSHED_COUNT, 0) + 1


def _written(short: str, low: float, high: float) -> str:
    return f"{short}:{low:.2f}:{high:.2f}"


def _range(text: str) -> tuple[str, float, float]:
    """Raises ValueError for what is no range of a metric."""
    short, *ends = text.split(":")
    metric = next((metric for metric in METRICS.values() if metric.short == short), None)
    if metric is None or len(ends) != 2:
        raise ValueError("write a metric and two numbers, such as kendall:0.25:0.5")
    low, high = (choice.within(*metric.range, float)(end) for end in ends)
    if low > high:
        raise ValueError("write the smaller number first")
    return short, low, high


def take(compared: Compared, metric: str, pair: tuple[int, int]) -> None:
    """Make the range that was drawn since the last run the chosen one, and the row the query; call it before either is
    read."""
    brushed = ((st.session_state.get(chart_key(compared, metric, pair)) or {}).get("selection")
               or {}).get(BRUSHED) or {}
    marked = brushed.get("from") or []
    if len(marked) == 2:
        first, last = METRICS[metric].range
        low, high = floor(min(marked) / STEP) * STEP, ceil(max(marked) / STEP) * STEP
        _choose(metric, min(max(low, first), last), max(min(high, last), first))
    chosen = choice.one(BETWEEN, None, _range)
    if chosen is not None:
        choice.keep(BETWEEN, _written(*chosen))
    key = _key(compared, metric, pair)
    rows = ((st.session_state.get(key) or {}).get("selection") or {}).get("rows") or []
    picked = key, tuple(rows)
    if rows and picked != st.session_state.get(HANDLED):
        choice.put("ranks", str(_listed(compared, metric, pair)[QUERY].iloc[rows[0]]))
    st.session_state[HANDLED] = picked


def _key(compared: Compared, metric: str, pair: tuple[int, int]) -> str:
    """Of the list; another range is another list, in which no row is chosen yet."""
    return f"compare:queries:{_digest(compared, metric, pair, between(metric))}"


def _digest(compared: Compared, *rest: object) -> str:
    return hashlib.sha256(repr((compared.key, *rest)).encode()).hexdigest()[:12]


def _listed(compared: Compared, metric: str, pair: tuple[int, int]) -> pd.DataFrame:
    """The queries of the range, or all."""
    whole, low_high = _whole(compared, metric, pair), between(metric)
    return whole if low_high is None else whole[whole["agreement"].between(*low_high)].reset_index(drop=True)


def _whole(compared: Compared, metric: str, pair: tuple[int, int]) -> pd.DataFrame:
    """One row a query of the first seed, what it shows, its label and agreement."""
    return desk().memory.cached(("queries", *compared.key, metric, *pair), lambda: _table(compared, metric, pair))


def _table(compared: Compared, metric: str, pair: tuple[int, int]) -> pd.DataFrame:
    dataset, sample = desk().sample(compared.sources[0])
    values = comparisons.per_query(compared, metric, *pair)
    values = values[values.seed == compared.sources[0].seed]
    rows = [int(sample.query_index[query]) for query in values["query"]]
    shown: dict[str, list] = {}
    if dataset.image_shape is not None:
        shown[PICTURE] = [pictures.data_url(dataset.key, "test", row, dataset) for row in rows]
    shown[QUERY] = values["query"].tolist()
    if dataset.records is not None:
        records = [dataset.record("test", row) for row in rows]
        shown["words"] = [record_text.short(record) for record in records if record is not None]
    else:
        shown[dataset.noun] = [dataset.class_names[sample.y_query[query]] for query in values["query"]]
    return pd.DataFrame({**shown, "agreement": values["agreement"].to_numpy()}).sort_values(
        "agreement", ignore_index=True, na_position="last")
