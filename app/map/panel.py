"""What the map shows: the cloud in the plane or in space, the selection, and the chosen training example."""

from __future__ import annotations

import streamlit as st

from app.charts import dots
from app.charts.draw import plot
from app.map.data import Dots
from app.map.state import MapChoice, offered_hues
from app.widgets.examples import cards, dot_pictures, example_card, sampled_examples, selection
from app.widgets.examples.dot_chart import HOW, DotChart
from app.widgets.results import downloads
from app.widgets.words import chips, glossary
from app.widgets.words.plain_text import plain
from engine.desk import SampledProblem, commands
from engine.desk.analyses import MAPS, Embedding
from engine.question import direction
from engine.scoring.scores import Scores

CHART = DotChart("map:dots")
TURNED = ("Drag to rotate, scroll to zoom. Select dots in two dimensions or in the fields below; a selected group is "
          "shown larger.")


def cloud(sampled: SampledProblem, embedded: Embedding, placed: Dots, chosen: MapChoice) -> None:
    """The chart with its small print, its table and its command."""
    title = MAPS[chosen.method].title
    axes = tuple(f"{_axis(chosen.method)} {number + 1}" for number in range(chosen.dimensions))
    hue = (f"the score under {chosen.scoring.title} for query {chosen.query}" if chosen.scoring else
           offered_hues(sampled.dataset)[chosen.hue])
    alt = f"Map of {len(placed.points):,} training examples by {title}, coloured by {hue}."
    rows = placed.points.row.to_numpy()
    with dot_pictures.shown(sampled.dataset, sampled.sample.train_index[rows], rows):
        if chosen.dimensions == 2:
            CHART.show(placed.points, placed.order, (axes[0], axes[1]), alt, quiet=placed.quiet)
        else:
            figure = dots.space(placed.points, placed.order, (axes[0], axes[1], axes[2]), selection.group(),
                                selection.example(), placed.quiet)
            plot(figure, alt, "map:space")
    variance = f" · explaining {embedded.kept:.0%} of the variance" if embedded.kept == embedded.kept else ""
    chips.note(f"{len(placed.points):,} training examples by {title} of the last layer's inputs{variance} · seed "
               f"{sampled.source.seed}")
    glossary.caption(f"{MAPS[chosen.method].note} {HOW if chosen.dimensions == 2 else TURNED}")
    downloads.chart_extras(f"map-{chosen.method}", placed.points.drop(columns=["series", "text"]).rename(
        columns={"row": "training example", "label": sampled_examples.noun(sampled), "value": "score"}),
        [chosen.scoring] if chosen.scoring else (), command=commands.of_problem(
            "map", sampled.source, "--method", chosen.method, "--dimensions", chosen.dimensions, "--out", "map.csv"),
        quantity=downloads.oriented(["score"], [chosen.scoring]) if chosen.scoring else "", source=sampled.source,
        charts=[CHART.name, "map:space"])


def take(placed: Dots, chosen: MapChoice) -> None:
    """What was clicked or marked since the last run becomes the selection."""
    if chosen.dimensions == 2:
        CHART.take(placed.points, placed.order, (f"{_axis(chosen.method)} 1", f"{_axis(chosen.method)} 2"),
                   quiet=placed.quiet)


def _axis(method: str) -> str:
    return "component" if MAPS[method].quick else "coordinate"


def legend(chosen: MapChoice) -> None:
    """What the colours of scores say."""
    if chosen.scoring is None:
        return
    chips.question(chosen.scoring)
    if chosen.scoring.route.implies:
        said = plain(direction.colours(chosen.scoring, "Teal", "Brown", chosen.query))
        glossary.caption(f"{said}. The colour scale is clipped at the {dots.ENDS:.0%} quantile of the scores' sizes.")


def selected(sampled: SampledProblem, chosen: MapChoice, scores: Scores | None) -> None:
    """The fields, the group, and the card of the chosen training example."""
    st.html(cards.STYLE)
    selection.fields(sampled.dataset, sampled.sample)
    selection.shown(sampled.dataset, sampled.sample)
    row = selection.example()
    if row is None:
        return
    if row >= sampled.problem.n:
        st.info(f"There is no training example {row} in this sample.", icon=":material/info:")
        return
    known = scores is not None and row in scores.candidates
    with st.container(border=True, key="map-card"):
        query = sampled_examples.queries(sampled)[chosen.query] if known else None
        example_card.show(sampled, row, [scores] if known and scores is not None else [], query)
        st.page_link("../pages/examples.py", label="Open in Examples", icon=":material/photo_library:")
