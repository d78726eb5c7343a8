"""What is chosen on the map: method, dimensions, what colours the dots; kept in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from app.widgets.choices import choice, inputs
from app.widgets.choices.selectors import pick, segments
from app.widgets.examples import hues, pictures
from app.widgets.words import glossary
from engine.analysis.embedding import METHODS
from engine.data import Dataset
from engine.problems import DrawnProblem
from engine.scoring.scoring import Scoring

QUERY = "query"
SAID, SCORE = "said", "score"


@dataclass(frozen=True)
class Chosen:
    """method: of the map. dimensions: 2 or 3. hue: what colours the dots. scoring, query: where that is a score."""

    method: str
    dimensions: int
    hue: str
    scoring: Scoring | None
    query: int


def controls(drawn: DrawnProblem, scorings: Sequence[Scoring], names: Sequence[str]) -> Chosen:
    """The row of choices. scorings: of which one can colour the dots, with their names."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="wf-map-asked")
    method = segments("method", "Map by", list(METHODS), "pca", lambda name: METHODS[name].title, row, help=" ".join(
        f"**{one.title}**: {one.note}" for one in METHODS.values()))
    space = segments("space", "Dimensions", ("2", "3"), "2", str, row)
    offered = _hues(drawn.dataset)
    hue = segments("shade", "Colour", list(offered), next(iter(offered)), offered.get, row)
    if hue != SCORE:
        return Chosen(method, int(space), hue, None, 0)
    asked = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    place = pick("under", "Score under", range(1, len(scorings) + 1), 1, lambda number: names[number - 1], int, asked,
                 width=330)
    return Chosen(method, int(space), hue, scorings[place - 1], _query(drawn, asked))


def _hues(dataset: Dataset) -> dict[str, str]:
    """What dots can be coloured by, with its name."""
    said = {SAID: "model right or wrong"} if dataset.records is None else {}
    known = hues.of_data(dataset)
    label = {hue: title for hue, title in known.items() if hue == hues.LABEL}
    return label | said | known | {SCORE: "score"}


def _query(drawn: DrawnProblem, area) -> int:
    last = len(drawn.sample.y_query) - 1
    key = choice.bound(QUERY, 0, choice.within(0, last))
    query = inputs.number_input("Query", 0, last, key=key, area=area, width=130, help=glossary.hint("Query"))
    choice.keep(QUERY, query)
    if drawn.dataset.image_shape is not None:
        area.html(pictures.html(drawn.dataset, "test", int(drawn.sample.query_index[query]), 56,
                                f"query {query}, label {drawn.dataset.class_names[drawn.sample.y_query[query]]}"),
                  width="content")
    return query
