"""Brought scores as one more row of the matrix: their claim and sign, and a cell for each specification of the list."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from app.compare.grid import shading
from app.widgets.results import downloads
from app.widgets.results.agreements import plus_minus, signed
from app.widgets.words import chips
from engine.basics.errors import InvalidInput
from engine.desk.analyses import compare
from engine.desk.compared import Compared
from engine.desk.external import agreement_with
from engine.metrics.agreement import METRICS
from engine.scoring.scores import Scores
from engine.scoring.verdict import Verdict, verdict


def cells(compared: Compared, external: Scores, names: Sequence[str], metric: str) -> pd.DataFrame:
    """One row a specification of the list, of the first seed: mean, ci95 over queries, verdict."""
    rows = []
    for name, other in zip(names, compared.scores[0], strict=True):
        agreement = agreement_with(other, external, [metric])[metric]
        rows.append({"specification": name, "mean": agreement.mean, "ci95": agreement.ci95,
                     "verdict": judged(compared, external, other).headline})
    return pd.DataFrame(rows)


def judged(compared: Compared, external: Scores, other: Scores) -> Verdict:
    """The verdict on external scores and those of the list, by what the two arrays show where they can be compared."""
    try:
        return compare([[external, other]], metrics=("kendall_tau",), problem=compared.sources[0].problem_class
                       ).verdicts[0][1]
    except InvalidInput:  # no candidate is left in both
        return verdict(external.scoring, other.scoring, compared.facts)


def show(compared: Compared, external: Scores, names: Sequence[str], metric: str) -> None:
    """The row, with its table."""
    table = cells(compared, external, names, metric)
    st.html(html(external, table, metric))
    chips.note(f"External scores against each specification: seed {compared.sources[0].seed}, ± over queries. "
               "How they were read is shown under “Bring scores of another program”.")
    downloads.chart_extras("brought-row", table, title="The row as a table")


def html(external: Scores, table: pd.DataFrame, metric: str) -> str:
    """The row as a table of the matrix's look; every text in it is escaped."""
    scoring, sign = external.scoring, external.provenance["brought"]["sign"]
    head = "".join(f'<th scope="col" title="{escape(name)}">{index + 1}</th>'
                   for index, name in enumerate(table.specification))
    known = f'<span class="wf-known">{escape(scoring.name)} · sign read as {escape(sign)}</span>'
    row = "".join(_cell(scoring.name, cell, metric) for cell in table.itertuples())
    count = len(table)
    size = "" if count <= 5 else " many" if count <= 8 else " most"
    return (f'<table class="wf-matrix{size}" aria-label="External scores: {METRICS[metric].title}">'
            f"<thead><tr><td></td>{head}</tr></thead><tbody><tr>"
            f'<th scope="row">{chips.html(scoring)}{known}</th>{row}</tr></tbody></table>')


def _cell(name: str, cell: Any, metric: str) -> str:
    strong, fill = shading(cell.mean, metric)
    label = f"{name} and {cell.specification}: {plus_minus(cell.mean, cell.ci95)}. {cell.verdict}"
    return (f'<td><div class="wf-cell wf-still{strong}" title="{escape(label)}" style="{fill}">'
            f'{signed(cell.mean, 2) if cell.mean == cell.mean else "–"}</div></td>')
