"""The numbers behind the Compare page: a cached comparison, and the table of every chart.

Tables are cached on text keys (sources, codes, candidates); the arrays themselves are never hashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from app.widgets.jobs.desk import desk
from app.widgets.pickers import new_picker, pickers, specification_list
from app.widgets.results.agreements import plus_minus
from app.widgets.results.two_rankings import RankingPair, ranks
from engine.basics.errors import InvalidInput, MissingData
from engine.basics.values import signed
from engine.desk import Waiting
from engine.desk import compared as desk_compared
from engine.desk.analyses import Comparison
from engine.desk.compared import Compared
from engine.metrics.agreement import METRICS, top_size
from engine.scoring.scoring import Scoring

WIDTH = 0.05  # of a histogram bar
CACHED = 24


def ask(scorings: Sequence[Scoring], why: dict[int, str]) -> Compared | Waiting:
    """Score and compare on the chosen data and seeds, or say what is being waited for. Scores of other programs belong
    to the first seed: with any of them, all are compared there. Those that the model has no answer to are left out.
    why: of these, by their rows; what is known once the model is trained joins it."""
    try:
        return _asked(scorings, why)
    except (InvalidInput, MissingData):
        known = specification_list.refused(scorings)
        if known == why:
            raise
        why.update(known)
        return _asked(scorings, why)


def _asked(scorings: Sequence[Scoring], why: Mapping[int, str]) -> Compared | Waiting:
    rows = [row for row in range(len(scorings)) if row not in why]
    if len(rows) < 2:
        raise InvalidInput("A comparison needs two specifications that this model can answer.")
    scorings = [scorings[row] for row in rows]
    computed = all(scoring.route.computes for scoring in scorings)
    sources = [new_picker.applied(pickers.source(seed)) for seed in range(pickers.seed_count() if computed else 1)]
    answer = desk_compared.compared(desk(), sources, scorings, pickers.optima_candidates())
    return answer if isinstance(answer, Waiting) else replace(answer, rows=tuple(rows[row] for row in answer.rows))


def matrix(compared: Compared, metric: str, labels: Sequence[str], pair: tuple[int, int]) -> pd.DataFrame:
    """One row a cell of the heatmap, the diagonal included. few: whether seeds of it are still computed."""
    rows = _cells(compared.key, metric, tuple(labels), compared.comparison)
    chosen = set(pair)
    return rows.assign(few=len(compared.sources) < compared.seeds, chosen=[
        row != column and {row, column} == chosen for row, column in zip(rows.row, rows.column, strict=True)])


def widened(cells: pd.DataFrame, rows: Sequence[int], labels: Sequence[str], pair: tuple[int, int]) -> pd.DataFrame:
    """The cells of some `rows` of a list as cells of the whole list, the others without a value yet."""
    known = {(rows[cell.row], rows[cell.column]): cell._asdict() for cell in cells.itertuples(index=False)}
    empty = {"mean": np.nan, "value": "…", "agreement": "not computed yet", "verdict": "", "few": True, "floor": "",
             "floor_words": ""}
    numbers = range(len(labels))
    return pd.DataFrame([{**empty, **known.get((row, column), {}), "row": row, "column": column, "first": labels[row],
                          "second": labels[column], "chosen": row != column and {row, column} == set(pair)}
                         for row in numbers for column in numbers])


@st.cache_data(show_spinner=False, max_entries=CACHED)
def _cells(key: tuple, metric: str, labels: tuple[str, ...], _comparison: Comparison) -> pd.DataFrame:
    rows = []
    for row, first in enumerate(labels):
        for column, second in enumerate(labels):
            agreement = _comparison.agreement(metric, row, column)
            rows.append({"row": row, "column": column, "first": first, "second": second, "mean": agreement.mean,
                         "value": "–" if np.isnan(agreement.mean) else signed(agreement.mean, 2),
                         "agreement": plus_minus(agreement.mean, agreement.ci95),
                         "verdict": _comparison.verdicts[row][column].headline})
    return pd.DataFrame(rows)


def table(compared: Compared, labels: Sequence[str]) -> pd.DataFrame:
    """Every pair and every metric, with intervals, as in the command line's agreement.csv."""
    return _table(compared.key, tuple(labels), compared.comparison)


@st.cache_data(show_spinner=False, max_entries=CACHED)
def _table(key: tuple, labels: tuple[str, ...], _comparison: Comparison) -> pd.DataFrame:
    whole = _comparison.table()
    names = dict(zip(_comparison.names, labels, strict=True))
    return whole.assign(a=whole.a.map(names), b=whole.b.map(names))


def further(compared: Compared, a: int, b: int) -> Comparison:
    """A pair in the measures beyond the three, over all seeds."""
    return desk_compared.further(desk(), compared, a, b)


def chance(metric: str, candidates: int) -> float:
    """What scores in random order reach on average."""
    return METRICS[metric].chance(candidates, 0.05)


def pair(compared: Compared, *indices: int) -> RankingPair:
    """The rankings of two scorings, or of more."""
    return desk().memory.cached(("pair", *compared.key, *indices), lambda: _pair(compared, indices))


def _pair(compared: Compared, indices: Sequence[int]) -> RankingPair:
    trusted = compared.trusted
    scored = [compared.scores[0][index] for index in indices]
    known = np.logical_and.reduce([scores.ranked[:, trusted] for scores in scored])
    scores = np.stack([np.where(known, one.oriented[:, trusted], np.nan) for one in scored])
    candidates = scored[0].candidates[trusted]
    dataset, sample = desk().sample(compared.sources[0])
    names, labels = dataset.class_names, sample.y_train[candidates]
    return RankingPair((*compared.key, *indices), scores, ranks(scores), candidates,
                       np.array([names[label] for label in labels]), dataset.noun)


def per_query(compared: Compared, metric: str, a: int, b: int) -> pd.DataFrame:
    """The agreement of every query, of every seed; undefined rows stay NaN."""
    values = compared.comparison.per_query[metric][:, a, b]
    seeds, queries = values.shape
    return pd.DataFrame({"seed": np.repeat([source.seed for source in compared.sources], queries),
                         "query": np.tile(np.arange(queries), seeds), "agreement": values.ravel()})


def histogram(values: pd.Series, metric: str, candidates: int) -> pd.DataFrame:
    """Counts of the values over the metric's range; an overlap of few candidates has one bar for each value."""
    low, high = METRICS[metric].range
    bins = round((high - low) / WIDTH)
    size = top_size(candidates, 0.05)
    if metric == "top_overlap" and size < bins:
        low, high, bins = -0.5 / size, 1 + 0.5 / size, size + 1
    counts, edges = np.histogram(values.dropna(), bins=bins, range=(low, high))
    return pd.DataFrame({"from": edges[:-1].round(4), "to": edges[1:].round(4), "queries": counts})
