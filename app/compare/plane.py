"""Two rankings against each other, a dot per example or a density over all queries, and the opened example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.charts import dots, rank_scatter
from app.charts.draw import draw
from app.widgets.choices import choice
from app.widgets.choices.selectors import segments
from app.widgets.examples import cards, dot_pictures, example_card, hues, sampled_examples, selection
from app.widgets.examples.dot_chart import HOW, DotChart
from app.widgets.jobs import job_panel
from app.widgets.jobs.desk import desk
from app.widgets.results import downloads, two_rankings
from app.widgets.results.two_rankings import RankingPair
from app.widgets.words import chips, glossary
from engine.desk import commands
from engine.desk.compared import Compared

CHART = DotChart("compare:dots")
RANKS, SCORES, EACH, DENSITY = "ranks", "scores", "each", "density"
SHOWN = {RANKS: "ranks", SCORES: "scores", EACH: "ranks of each query", DENSITY: "density"}
BY_TOP = "top"
MOST, MOST_OF_EACH = 60_000, 20_000
"""Dots that stay usable, and those of each query, which lie close together; above, the density alone is drawn."""
QUIET = dots.FLAGGED[1]


@dataclass(frozen=True, eq=False)
class Dotted:
    """The dots of a pair: as `app.charts.dots` takes them, the order of their series, the titles of the axes, and
    further options of the figure."""

    points: pd.DataFrame
    order: list[str]
    axes: tuple[str, str]
    options: dict[str, Any]


def chosen_dots(compared: Compared, pair: RankingPair, labels: tuple[str, str], query: int | None) -> Dotted | None:
    """The switches, and the dots that they ask for; None for the density. What was clicked or marked in them since the
    last run becomes the selection."""
    _switches(compared, len(pair.candidates))
    dotted = _dotted(compared, pair, labels, query)
    if dotted is not None:
        CHART.take(dotted.points, dotted.order, dotted.axes, **dotted.options)
    return dotted


def scatter(compared: Compared, pair: RankingPair, indices: tuple[int, int], labels: tuple[str, str], query: int | None,
            dotted: Dotted | None) -> None:
    """One ranking across, the other one up."""
    over = "over all queries" if query is None else f"query {query}"
    scorings = [compared.scorings[index] for index in indices]
    command = commands.scores(compared.ranked_sources[0], scorings)
    if dotted is None:
        table = two_rankings.density(pair, query)
        draw(rank_scatter.density, table, *labels, key="compare:density",
             alt=f"Density of the ranks under {labels[0]} (horizontal) and {labels[1]} (vertical), {over}. Equal "
                 "ranks lie on the diagonal.")
        downloads.chart_extras("ranks", table, scorings, compared.ranked_sources[0], command,
                               charts=["compare:density"])
        return
    dataset, sample = desk().sample(compared.sources[0])
    rows = dotted.points.row.to_numpy()
    with dot_pictures.shown(dataset, sample.train_index[rows], rows):
        across, up = (axis[0].lower() + axis[1:] for axis in dotted.axes)
        CHART.show(dotted.points, dotted.order, dotted.axes, f"{len(dotted.points):,} candidates by {across} "
                   f"(horizontal) and {up} (vertical), {over}.", **dotted.options)
    each = len(dotted.points) > len(pair.candidates)
    chips.note(f"{len(dotted.points):,} dots, one per {'query and ' if each else ''}candidate · "
               f"seed {compared.sources[0].seed} · "
               + (over if each or query is not None else f"mean score {over}; τ averages over queries"))
    glossary.caption(f"Rank 1 supports the behavior most; on the dotted diagonal both ranks are equal. {HOW}")
    downloads.chart_extras("ranks", two_rankings.ranking(pair, query), scorings, compared.ranked_sources[0], command,
                           quantity=downloads.of_two(scorings), charts=[CHART.name])


def _switches(compared: Compared, count: int) -> None:
    if count > MOST:
        glossary.caption(f"More than {MOST:,} dots are shown as a density.")
        return
    with st.container(horizontal=True, gap="medium"):
        segments("plane", "Axes", list(SHOWN), RANKS, SHOWN.get)
        offered = _hues(compared)
        segments("hue", "Colour", list(offered), BY_TOP, offered.get)


def _hues(compared: Compared) -> dict[str, str]:
    """What dots can be coloured by, with its name."""
    return {BY_TOP: "top of either", **hues.of_data(desk().sample(compared.sources[0])[0])}


def _dotted(compared: Compared, pair: RankingPair, labels: tuple[str, str], query: int | None) -> Dotted | None:
    shown = choice.one("plane", RANKS, choice.from_options(list(SHOWN)))
    pooled = shown == EACH and query is None
    if shown == DENSITY or len(pair.candidates) > MOST or pooled and pair.ranks[0].size > MOST_OF_EACH:
        return None
    hue = choice.one("hue", BY_TOP, choice.from_options(list(_hues(compared))))
    table = two_rankings.each_query(pair) if pooled else two_rankings.ranking(pair, query)
    sample = desk().sample(compared.sources[0])[1]
    kind, words = "score" if shown == SCORES else "rank", _words(compared)
    series, order, quiet = _series(hue, compared, pair, table)
    points = pd.DataFrame({
        "row": table.example.astype(int), "x": table[f"{kind}_a"].astype(float), "y": table[f"{kind}_b"].astype(float),
        "series": series, "text": [
            dots.said(sample.called(row), f"{pair.noun} {label}", f"ranks {a:,} and {b:,}",
                      f"scores {cards.number(one)} and {cards.number(other)}", *words(row))
            for row, label, a, b, one, other in zip(
                table.example, table[pair.noun], table.rank_a, table.rank_b, table.score_a, table.score_b,
                strict=True)]})
    options: dict[str, Any] = {"quiet": quiet} | ({"diagonal": float(table.rank_a.max())} if kind == "rank" else {})
    return Dotted(points, order, (f"{kind.title()} under {labels[0]}", f"{kind.title()} under {labels[1]}"), options)


def _words(compared: Compared) -> Callable[[int], list[str]]:
    """What else a dot says of a training example."""
    dataset, sample = desk().sample(compared.sources[0])
    describe = dot_pictures.description(dataset)
    return lambda row: describe(int(sample.train_index[row]))


def _series(hue: str, compared: Compared, pair: RankingPair, table: pd.DataFrame) -> tuple[list[str], list[str], str]:
    """(series of each dot, their order, the quiet one)."""
    if hue != BY_TOP:
        dataset, sample = desk().sample(compared.sources[0])
        return hues.series(hue, dataset, table[pair.noun].astype(str).tolist(),
                           sample.train_index[table.example.to_numpy(dtype=int)])
    top = two_rankings.TOP
    names = [f"top {top} of both", f"top {top} of the first", f"top {top} of the second", QUIET]
    first, second = (table.rank_a <= top).to_numpy(), (table.rank_b <= top).to_numpy()
    return np.select([first & second, first, second], names[:3], names[3]).tolist(), names, QUIET


def fields(compared: Compared) -> None:
    """The selection as fields, and the group by its pictures."""
    dataset, sample = desk().sample(compared.sources[0])
    selection.fields(dataset, sample)
    selection.shown(dataset, sample)


def card(compared: Compared, query: int | None) -> None:
    """The chosen training example under every specification."""
    source = compared.sources[0]
    row = selection.example()
    if row is None:
        return
    if row not in compared.scores[0][0].candidates:
        st.info(f"Example {row} is not among the candidates here, so it has no score.", icon=":material/info:")
        return
    sampled = job_panel.beside(desk().sampled(source))
    if sampled is None:
        return
    of_query = None if query is None else sampled_examples.queries(sampled)[query]
    st.html(cards.STYLE)
    with st.container(border=True, key="compare-card"):
        example_card.show(sampled, row, compared.scores[0], of_query)
        st.page_link("../pages/examples.py", label="Open in Examples", icon=":material/photo_library:")
