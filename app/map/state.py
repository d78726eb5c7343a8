"""What is chosen on the map: method, dimensions, what colours the dots; kept in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.widgets.choices.selectors import number, pick, segments
from app.widgets.examples import hues, pictures
from app.widgets.words import glossary
from engine.desk import SampledProblem
from engine.desk.analyses import MAPS
from engine.desk.datasets import Dataset
from engine.scoring.scoring import Scoring

QUERY = "query"
SAID, SCORE = "said", "score"


@dataclass(frozen=True)
class MapChoice:
    """method: of the map. dimensions: 2 or 3. hue: what colours the dots. scoring, query: where that is a score."""

    method: str
    dimensions: int
    hue: str
    scoring: Scoring | None
    query: int


def controls(sampled: SampledProblem, scorings: Sequence[Scoring], names: Sequence[str]) -> MapChoice:
    """The row of choices. scorings: of which one can colour the dots, with their names."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="wf-map-asked")
    method = segments("method", "Map by", list(MAPS), "pca", lambda name: MAPS[name].title, area=row, help=" ".join(
        f"**{one.title}**: {one.note}" for one in MAPS.values()))
    space = segments("space", "Dimensions", ("2", "3"), "2", str, area=row)
    offered = offered_hues(sampled.dataset)
    hue = segments("shade", "Colour", list(offered), next(iter(offered)), offered.get, area=row)
    if hue != SCORE:
        return MapChoice(method, int(space), hue, None, 0)
    area = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    number = pick("under", "Score under", range(1, len(scorings) + 1), 1, lambda number: names[number - 1], int, area,
                 width=330)
    return MapChoice(method, int(space), hue, scorings[number - 1], _query(sampled, area))


def offered_hues(dataset: Dataset) -> dict[str, str]:
    """What dots can be coloured by, with its name."""
    said = {SAID: "correct or misclassified"} if dataset.has_classes else {}
    known = hues.of_data(dataset)
    label = {hue: title for hue, title in known.items() if hue == hues.LABEL}
    return label | said | known | {SCORE: "score"}


def _query(sampled: SampledProblem, area: DeltaGenerator) -> int:
    last = len(sampled.sample.y_query) - 1
    query = number(QUERY, "Query", 0, 0, last, area=area, width=130, help=glossary.hint("Query"))
    if sampled.dataset.image_shape is not None:
        area.html(pictures.html(sampled.dataset, "test", int(sampled.sample.query_index[query]), 56,
                                f"query {query}, label {sampled.dataset.class_names[sampled.sample.y_query[query]]}"),
                  width="content")
    return query
