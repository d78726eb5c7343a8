"""The queries of the open pair as a list of pictures or words, to sort by agreement and to choose from."""

from __future__ import annotations

import hashlib

import pandas as pd
import streamlit as st

from app.charts.distribution import BRUSHED
from app.compare import data as comparisons
from app.widgets import choice, glossary, pictures, record_text
from app.widgets.desk import desk
from engine.desk.compared import Compared
from engine.metrics.agreement import METRICS

HANDLED = "compare:queries:handled"
PICTURE, QUERY = "picture", "query"


def chart_key(found: Compared, metric: str, pair: tuple[int, int]) -> str:
    """Of the histogram beside the list, over which a range is drawn."""
    return f"compare:spread:{_digest(found, metric, pair)}"


def show(found: Compared, metric: str, pair: tuple[int, int]) -> None:
    """The list, those that disagree most first; a chosen row is the query of the page."""
    title, whole, brushed = METRICS[metric].title, _whole(found, metric, pair), _brushed(found, metric, pair)
    if brushed is None:
        text = "Draw a range over the bars beside it, and only its queries are listed."
    else:
        low, high = (f"{end:.3f}".replace("-", "−") for end in brushed)
        text = (f"{len(_listed(found, metric, pair)):,} of {len(whole):,}, those between {low} and {high}; "
                "a click beside the range lets go of it.")
    glossary.caption(f"Queries of seed {found.sources[0].seed}, the least {title} first; a head sorts by its column, "
                     f"the box before a row chooses its query. {text}")
    st.dataframe(_listed(found, metric, pair), key=_key(found, metric, pair), on_select="rerun",
                 selection_mode="single-row", hide_index=True, width="stretch", height=480, row_height=44,
                 column_config={PICTURE: st.column_config.ImageColumn("", width=60),
                                "agreement": st.column_config.NumberColumn(title, format="%.3f")})


def take(found: Compared, metric: str, pair: tuple[int, int]) -> None:
    """Make the row that was chosen since the last run the query; call it before the query is read."""
    key = _key(found, metric, pair)
    rows = ((st.session_state.get(key) or {}).get("selection") or {}).get("rows") or []
    picked = key, tuple(rows)
    if rows and picked != st.session_state.get(HANDLED):
        choice.keep("ranks", str(_listed(found, metric, pair)[QUERY].iloc[rows[0]]))
        st.session_state.pop(choice.widget("ranks"), None)
    st.session_state[HANDLED] = picked


def _key(found: Compared, metric: str, pair: tuple[int, int]) -> str:
    """Of the list; another range is another list, in which no row is chosen yet."""
    return f"compare:queries:{_digest(found, metric, pair, _brushed(found, metric, pair))}"


def _digest(found: Compared, *told: object) -> str:
    return hashlib.sha256(repr((found.key, *told)).encode()).hexdigest()[:12]


def _brushed(found: Compared, metric: str, pair: tuple[int, int]) -> tuple[float, float] | None:
    """(from, to) of the range that is drawn over the histogram."""
    drawn = ((st.session_state.get(chart_key(found, metric, pair)) or {}).get("selection") or {}).get(BRUSHED) or {}
    ends = drawn.get("from") or []
    return (float(min(ends)), float(max(ends))) if len(ends) == 2 else None


def _listed(found: Compared, metric: str, pair: tuple[int, int]) -> pd.DataFrame:
    """The queries of the range, or all."""
    whole, brushed = _whole(found, metric, pair), _brushed(found, metric, pair)
    return whole if brushed is None else whole[whole["agreement"].between(*brushed)].reset_index(drop=True)


def _whole(found: Compared, metric: str, pair: tuple[int, int]) -> pd.DataFrame:
    """One row a query of the first seed, what it shows, its label and agreement."""
    return desk().memory.kept(("queries", *found.key, metric, *pair), lambda: _made(found, metric, pair))


def _made(found: Compared, metric: str, pair: tuple[int, int]) -> pd.DataFrame:
    dataset, sample = desk().sample(found.sources[0])
    values = comparisons.per_query(found, metric, *pair)
    values = values[values.seed == found.sources[0].seed]
    rows = [int(sample.query_index[query]) for query in values["query"]]
    shown: dict[str, list] = {}
    if dataset.image_shape is not None:
        shown[PICTURE] = [pictures.data_url(dataset.name, "test", row, dataset) for row in rows]
    shown[QUERY] = values["query"].tolist()
    if dataset.records is not None:
        records = [dataset.record("test", row) for row in rows]
        shown["words"] = [record_text.short(record) for record in records if record is not None]
    else:
        shown[dataset.noun] = [dataset.class_names[sample.y_query[query]] for query in values["query"]]
    return pd.DataFrame({**shown, "agreement": values["agreement"].to_numpy()}).sort_values(
        "agreement", ignore_index=True, na_position="last")
