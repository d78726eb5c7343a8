"""The map of the training set: its dots, its colours, and the selection that it shares."""

import numpy as np
import pytest

from app.map import data as map_data
from app.map.state import MapChoice
from engine.analysis.embedding import embedding
from engine.problems import ProblemSource
from tests.pages.support import open, queued, says, sound

pytestmark = pytest.mark.core

SMALL = {"data": "digits", "train": 60, "queries": 12, "candidates": 8, "nseeds": 1}


def page(**more):
    return sound(open("map", **{**SMALL, **more}))


def figure(at):
    return at.get("plotly_chart")


def test_the_map_opens_with_every_example_by_label():
    at = page()
    assert len(figure(at)) == 1 and says(at, "60 training examples by principal components")
    assert says(at, "python -m engine map") and says(at, "--method pca --dimensions 2")


def test_space_is_turned_and_keeps_more_of_the_variance():
    at = page(space=3, group="3-5")
    assert len(figure(at)) == 1 and says(at, "Drag to rotate") and says(at, "Group of 3:")


@pytest.mark.parametrize(("method", "title"), [("tsne", "t-SNE"), ("umap", "UMAP")])
def test_what_keeps_neighbours_is_a_job(home, method, title):
    at = page(method=method)
    assert not figure(at) and queued() == [f"Map by {title} in 2 dimensions, Handwritten digits"]


def test_a_score_colours_the_dots_and_the_card_has_its_rank():
    at = page(shade="score", query=3, example=7)
    assert says(at, "supports the behavior at query 3") and says(at, "7 (row ") and says(at, "of 60")
    assert at.query_params["query"] in ("3", ["3"])


def test_without_scores_the_card_has_the_prediction():
    at = page(example=7)
    assert says(at, "predicted") and not says(at, "of 60")


@pytest.mark.parametrize("name, text", [("method", "isomap"), ("space", "4"), ("shade", "mood"), ("group", "x")])
def test_nonsense_in_the_address_is_said_and_ignored(name, text):
    assert says(page(**{name: text}), f"The address said `{name}={text}`, which was ignored")


def test_dots_stand_where_the_engine_says_with_what_the_model_says():
    drawn = ProblemSource(n_train=60, n_queries=12, n_test=20).build()
    found = embedding(drawn.problem, "pca")
    placed = map_data.placed(drawn, found, MapChoice("pca", 2, "said", None, 0), None)
    assert np.array_equal(placed.points[["x", "y"]].to_numpy(), found.coordinates)
    wrong = (drawn.problem.probabilities.argmax(-1).numpy() != drawn.sample.y_train)
    assert (placed.points.series == map_data.WRONG).tolist() == wrong.tolist()
