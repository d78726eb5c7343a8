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
    shade,
    shaded,
)


def show(wanted: Study, tables: Mapping[str, pd.DataFrame], row: int, ranking: Ranking) -> None:
    """The text on the left, the ranks on the right."""
    st.html(record_text.STYLE)
    st.html(record_html.STYLE)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _text(wanted, tables, row, ranking)
    with right:
        _ranks(ranking, tables["records"], row)


def _text(wanted: Study, tables: Mapping[str, pd.DataFrame], row: int, ranking: Ranking) -> None:
    record = tables["records"].iloc[row]
    more = shaded(desk(), wanted, row)
    tokens = pd.concat([tables["tokens"], more.tables["tokens"]]) if isinstance(more, Attributed) else tables["tokens"]
    own, rest = contributions(tokens, ranking.method.name, ranking.behavior, row)
    st.html(record_html.record_html(record, own))
    st.html(record_html.key(len(own) > 0, bool(changed(record)), json.loads(record["marks"])))
    glossary.caption(_shading(ranking.method, own["contribution"], rest))
    if own.empty and not ranking.method.undivided:
        _shade_it(wanted, row, more)
    if len(own):
        downloads.chart_extras(f"tokens-{row}", own[["place", "text", "contribution"]], title="The tokens as a table",
                               quantity=ranking.quantity)


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
        return "Tokens are shaded at once for the records at either end of a ranking; this one is in between."
    text = (f"Shading: what each response token adds to this record's {method.label} score, the tokens together "
            f"**{contributions.sum():+.2e}**")
    if not method.preconditioned:
        return f"{text}, which is the score."
    return (f"{text}. The optimizer's momentum, which no token brings, adds {rest:+.2e}; the sum is the score. How far "
            "Adam shortens a step is held at what the whole record makes of it.")


def _shade_it(wanted: Study, row: int, more: Attributed | Waiting | None) -> None:
    """A button that computes the contributions of one record's tokens, and how far it is."""
    if isinstance(more, Waiting):
        job_panel.watch(more)
    else:
        st.button("Shade its tokens", key=f"language:shade:{row}", icon=":material/gradient:", on_click=job_panel.act,
                  args=(shade, desk(), wanted, row), help="A run of its own; its training and gradients are there "
                  "already.")
