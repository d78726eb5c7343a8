"""The jobs of groups and curves hold what the analysis says."""

import numpy as np

from engine.analysis.groups import GroupRequest, group_effect
from engine.analysis.removal_curve import RemovalRequest
from engine.problems import ProblemSource
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import answered
from tests.engine.single_thread import one_thread  # noqa: F401

SOURCE = ProblemSource(dataset="digits", n_train=60, n_test=12, n_queries=5, n_candidates=20, pool=2, l2=1e-2)
LOO = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})


def test_a_group_has_one_run_whatever_its_order(tmp_path):
    request = GroupRequest(scoring=LOO, rows=(9, 2))
    assert request.of(SOURCE).payload == GroupRequest(scoring=LOO, rows=(2, 9, 9)).of(SOURCE).payload
    table = answered(request, SOURCE, tmp_path).whole
    found = group_effect(SOURCE.build().problem, LOO, [2, 9])
    np.testing.assert_allclose(table["whole group"], found.whole, atol=1e-9)
    np.testing.assert_allclose(table["additivity gap"], found.gap, atol=1e-9)
    alone = answered(GroupRequest(scoring=LOO, rows=(2, 9), singles=False), SOURCE, tmp_path).whole
    np.testing.assert_allclose(alone["whole group"], found.whole, atol=1e-9)
    assert list(alone.columns) == ["query", "whole group", "trusted"] and alone.trusted.all()


def test_a_curve_of_the_first_candidates(tmp_path):
    request = RemovalRequest(scorings=(LOO,), candidates=10, behavior="query_loss", query=3, random=2)
    table = answered(request, SOURCE, tmp_path).whole
    assert list(table.ranking) == ["0"] * 3 and list(table.removed) == [1, 2, 5] and set(table.groups) == {2}
    np.testing.assert_allclose(table.change[0], table["sum of single effects"][0], atol=1e-7)
