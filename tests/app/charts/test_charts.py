"""Every chart against Vega-Lite's schema, on tables with a known content."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from app.charts import distribution, heatmap, rank_change, rank_scatter
from app.compare import data as comparisons
from app.widgets.results import agreements, two_rankings
from engine.metrics.agreement import METRICS, summarize

K = 60


@pytest.fixture
def pair():
    """Two rankings of K candidates for 3 queries: identical, reversed, and one pair swapped."""
    first = np.tile(np.arange(K, dtype=float), (3, 1))
    second = np.stack([first[0], -first[1], first[2]])
    second[2, [K - 1, K - 2]] = second[2, [K - 2, K - 1]]
    scores = np.stack([first, second])
    return two_rankings.RankingPair(("test", "pair"), scores, two_rankings.ranks(scores), np.arange(100, 100 + K),
                            np.array(["a", "b"] * (K // 2)))


def cells(values):
    count = len(values)
    return pd.DataFrame([{"row": row, "column": column, "first": f"{row}", "second": f"{column}",
                          "mean": values[row][column], "value": "x", "agreement": "x", "verdict": "x",
                          "chosen": {row, column} == {0, 1}} for row in range(count) for column in range(count)])


def test_ranks_start_at_one_with_the_largest_score_and_ties_in_order():
    found = two_rankings.ranks(np.array([[0.5, 2.0, -1.0, 2.0]]))
    assert found.tolist() == [[3, 1, 4, 2]]


@pytest.mark.parametrize("metric", METRICS)
def test_the_heatmap_spans_the_range_of_its_metric_and_marks_chance(metric):
    chance = METRICS[metric].chance(300, 0.05)
    spec = heatmap.heatmap(cells([[1.0, math.nan], [math.nan, 1.0]]), metric, chance).to_dict()
    colour = spec["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == list(METRICS[metric].range)
    assert colour["scale"]["range"] == ("diverging" if metric == "kendall_tau" else "ramp")
    assert colour["scale"].get("domainMid") == (0 if metric == "kendall_tau" else None)
    assert chance in colour["legend"]["values"]


def test_no_chart_shows_its_ramp_as_a_gradient():
    """A gradient vanishes when the address changes; squares stay."""
    colors = list((Path(heatmap.__file__).parent).glob("*.py"))
    assert len(colors) > 5 and not [path.name for path in colors if "gradientLength" in path.read_text()]
    legend = heatmap.heatmap(cells([[1.0, 0.2], [0.2, 1.0]]), "kendall_tau", 0.0).to_dict()
    legend = legend["layer"][0]["encoding"]["color"]["legend"]
    assert legend["type"] == "symbol" and legend["values"] == [-1.0, 0.0, 1.0]


def test_the_heatmaps_selection_is_named_and_has_fields():
    spec = heatmap.heatmap(cells([[1.0, 0.2], [0.2, 1.0]]), "kendall_tau", 0.0).to_dict()
    (selection,) = [param for param in spec["params"] if param["name"] == heatmap.SELECTION]
    assert selection["select"]["fields"] == ["row", "column"]


def test_ranking_of_a_query_and_of_the_mean(pair):
    reversed_ = two_rankings.ranking(pair, 1)
    assert (reversed_.rank_a + reversed_.rank_b == K + 1).all() and reversed_.example[0] == 100 + K - 1
    mean = two_rankings.ranking(pair, None)
    assert mean.rank_a.tolist() == list(range(1, K + 1))
    np.testing.assert_allclose(mean.score_a, pair.scores[0].mean(0)[::-1])


@pytest.mark.parametrize("k", [5, 29, 40, 60, 97])
def test_density_counts_every_pair_once(k):
    ranks = two_rankings.ranks(np.random.default_rng(0).normal(size=(2, 4, k)))
    found = two_rankings._density.__wrapped__((), ranks)
    area = (found.to_a - found.from_a) * (found.to_b - found.from_b)
    assert (found.times * area).sum() / k**2 == pytest.approx(1.0, abs=1e-3)
    assert found.to_a.max() == k and area.sum() == k**2


def test_density_is_one_on_average_and_sits_on_both_diagonals(pair):
    found = two_rankings._density.__wrapped__(pair.key, pair.ranks)
    assert found.times.mean() == pytest.approx(1.0, abs=1e-3)
    bins = two_rankings.BINS
    squares = found.times.to_numpy().reshape(bins, bins)
    on = np.eye(bins, dtype=bool) | np.eye(bins, dtype=bool)[::-1]
    assert squares[on].sum() == pytest.approx(squares.sum(), rel=0.05)
    rank_scatter.density(found, "1. a", "2. b").to_dict()


def test_top_changes_holds_both_tops(pair):
    same, reversed_ = two_rankings.top_changes(pair, 0, 5), two_rankings.top_changes(pair, 1, 5)
    assert len(same) == 5 and set(same.membership) == {"in both"} and (same.position_a == same.position_b).all()
    assert len(reversed_) == 10 and set(reversed_.membership) == set(rank_change.MEMBERSHIP[1:])
    assert (reversed_.loc[reversed_.rank_b > 5, "position_b"] > 6).all()
    rank_change.rank_change(reversed_, "1. a", "2. b", 5).to_dict()


def test_one_loud_query_turns_the_mean_and_not_how_often_examples_are_in_the_top():
    calm = np.arange(40.0)[::-1]
    first = np.tile(calm, (10, 1))
    second = first.copy()
    second[0] = -1e6 * calm
    scores = np.stack([first, second])
    loud = two_rankings.RankingPair(("loud",), scores, two_rankings.ranks(scores), np.arange(40), np.full(40, "a"))
    assert not (two_rankings.top_changes(loud, None).membership == "in both").any()
    often = two_rankings.top_changes(loud, None, by=two_rankings.OFTEN)
    assert (often.membership == "in both").all() and often.score_b.tolist() == [0.9] * 20
    assert often.rank_b.tolist() == list(range(1, 21)) and two_rankings.shared(loud, 20) == 18.0


def test_points_hold_every_candidate(pair):
    spec = rank_scatter.points(two_rankings.ranking(pair, 2), "1. a", "2. b", 5).to_dict()
    assert max(len(rows) for rows in spec["datasets"].values()) == K


@pytest.mark.parametrize("metric, candidates", [("kendall_tau", 300), ("top_overlap", 100), ("top_overlap", 1000),
                                                ("sign_agreement", 300)])
def test_the_histogram_counts_every_query_once(metric, candidates):
    low, high = METRICS[metric].range
    values = pd.Series([low, high, (low + high) / 2, high, math.nan])
    bins = comparisons.histogram(values, metric, candidates)
    assert bins.queries.sum() == 4
    found = summarize(values.to_numpy(), interval_over="queries")
    plain, marked = (distribution.distribution(bins, found, metric, chosen).to_dict() for chosen in (None, (0.25, 0.5)))
    assert len(marked["layer"]) == len(plain["layer"]) + 1
    assert [{"from": 0.25, "to": 0.5}] in marked["datasets"].values()


def test_numbers_are_written_with_true_signs_and_intervals():
    assert agreements.plus_minus(-0.05, 0.01) == "−0.050 ± 0.010"
    assert agreements.plus_minus(0.5, math.nan) == "0.500"
    assert agreements.plus_minus(math.nan, math.nan) == "undefined"
    assert agreements.signed(-0.0004, 2) == "0.00"
