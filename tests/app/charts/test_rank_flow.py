"""The top of several rankings side by side, and the rows of the waterfall of an explanation."""

import math

import numpy as np
import pandas as pd
import pytest

from app.charts import figure, rank_flow, sweep, way
from app.compare import explanation_view
from app.widgets.results import two_rankings
from app.widgets.results.two_rankings import RankingPair
from engine.desk.analyses import Contribution, Explanation
from engine.metrics.agreement import MeanAgreement
from engine.scoring.left_out import LeftOut

SCORES = np.array([[[9.0, 8, 7, 1]], [[8.0, 9, 1, 7]], [[9.0, 1, 8, 7]]])  # three rankings of four candidates


def written(chart) -> str:
    return figure.FORMS["svg"][1](figure.light(figure.specification(chart))).decode()


@pytest.fixture
def rows():
    pair = RankingPair(("key",), SCORES, two_rankings.ranks(SCORES), np.array([10, 11, 12, 13]), np.array(list("abcd")))
    return two_rankings.flow(pair, 0, 2)


def test_the_top_of_any_ranking_is_followed_through_all_of_them(rows):
    table = rows.pivot(index="example", columns="ranking", values="rank")
    assert table.loc[10].tolist() == [1, 2, 1] and table.loc[11].tolist() == [2, 1, 4]
    assert table.loc[12].tolist() == [3, 4, 2] and 13 not in table.index  # never among the first two
    assert rows.groupby("example").tops.first().to_dict() == {10: 3, 11: 2, 12: 1}
    assert [rank_flow.membership(tops, 3) for tops in (3, 2, 1)] == list(rank_flow.IN)


def test_the_flow_has_a_line_each_example_and_names_its_ends(rows):
    svg = written(rank_flow.flow(rows, ["1. one", "2. two", "3. three"], 2))
    assert svg.count('aria-roledescription="line mark"') == 3
    assert "a · 1" in svg and "2 · c" in svg and "3 · c" not in svg  # outside the top no name


def explanation(*lengths: float, direct: float) -> Explanation:
    path = sum(lengths)
    links = [Contribution((cause,), cause, length, 0.01, length / path, length, length, {})
             for cause, length in zip("BPT", lengths, strict=False)]
    return Explanation(tuple(links), {}, MeanAgreement(direct, 0.01, 1, 10, 0, (direct,)), path,
                       path - direct, {}, 1, (), LeftOut())


@pytest.mark.parametrize("direct", [0.5, 0.3])
def test_the_waterfall_adds_up_to_the_disagreement(direct):
    steps = explanation_view.steps(explanation(0.2, 0.3, direct=direct))
    *changes, whole = steps.change
    assert math.isclose(sum(changes), whole) and whole == direct
    assert (steps.title == explanation_view.SLACK).sum() == (direct < 0.5)  # what changes undo is a step down
    assert steps.start.tolist()[1:-1] == steps.end.tolist()[:-2]  # each begins where the one before it ends
    svg = written(way.waterfall(steps))
    assert f"{direct:.3f}" in svg and ("−0.200" in svg) == (direct < 0.5) and way.color(("B",), False).lower() in (
        svg.lower())


def test_settings_stand_in_panels_on_one_scale():
    table = pd.DataFrame({"setting": ["depth"] * 2 + ["scale"] * 2, "default": [1.0, 1, 0.1, 0.1],
                          "value": [1.0, 10, 0.1, 1], "mean": [0.2, 0.4, 0.6, 0.8], "ci95": 0.01, "seconds": 1.0})
    svg = written(sweep.multiples(table, "Kendall tau"))
    assert "depth (log scale)" in svg and "scale (log scale)" in svg
    assert svg.count(">0.8<") == 2  # the tick stands on both
