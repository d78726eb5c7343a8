"""What tooltips show of training examples: pictures or words, and only as many as a page should carry."""

import base64

import numpy as np
import pandas as pd

from app.charts import tips
from app.charts.curves import exact_scatter
from app.charts.rank_change import rank_change
from app.widgets.examples import looks
from app.widgets.results import two_rankings
from engine import data
from engine.data import Dataset
from engine.data.records import Record


def test_pictures_travel_with_the_table_and_its_tooltip():
    digits = data.load("digits")
    seen = looks.added(pd.DataFrame({"candidate": [0, 1], "exact": [1.0, 2.0], "approximate": [1.0, -2.0],
                                     "sign": ["same sign", "sign switched"]}), digits, np.array([5, 7]))
    head, _, packed = seen[tips.PICTURE][0].partition(",")
    assert head == "data:image/png;base64" and base64.b64decode(packed).startswith(b"\x89PNG")
    assert seen[tips.PICTURE].nunique() == 2
    drawn = exact_scatter(seen).to_dict()
    assert [one["field"] for one in drawn["layer"][1]["encoding"]["tooltip"]] == [
        "image", "candidate", "exact", "approximate"]


def test_words_in_the_slope_chart():
    texts = tuple(Record(prompt=f"Question {row}?", response="A") for row in range(3))
    records = Dataset("r", "R", np.arange(3.0)[:, None], np.array([0, 1, 0]), np.zeros((1, 1)), np.array([0]),
                      ("A", "B"), records=(texts, texts[:1]))
    scores = np.array([[[3.0, 2.0, 1.0]], [[1.0, 2.0, 3.0]]])
    pair = two_rankings.RankingPair(("test",), scores, two_rankings.ranks(scores), np.arange(3),
                                    np.array(["A", "B", "A"]))
    table = two_rankings.top_changes(pair, 0, 1)
    seen = looks.added(table, records, np.array([2, 0]))
    assert seen[tips.WORDS].tolist() == ["Question 2?", "Question 0?"]
    tooltip = rank_change(seen, "1. a", "2. b", 1).to_dict()["layer"][2]["encoding"]["tooltip"]
    assert tooltip[0] == {"field": "words", "title": "Text", "type": "nominal"}
    assert not {"image", "words"} & {one["field"] for one in rank_change(table, "1. a", "2. b", 1).to_dict()["layer"][
        2]["encoding"]["tooltip"]}


def test_neither_many_nor_numbers():
    digits = data.load("digits")
    many = pd.DataFrame({"candidate": range(looks.MOST + 1)})
    assert looks.added(many, digits, many.candidate.to_numpy()) is many
    numbers = Dataset("n", "N", np.zeros((2, 3)), np.array([0, 1]), np.zeros((1, 3)), np.array([0]), ("a", "b"))
    few = many.head(2)
    assert looks.added(few, numbers, few.candidate.to_numpy()) is few
