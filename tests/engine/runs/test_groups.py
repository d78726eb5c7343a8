"""The jobs of groups and curves hold what the analysis says."""

import numpy as np

from engine.analysis.groups import group_effect
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.runs import groups
from engine.scoring.scoring import Scoring
from tests.engine.single_thread import one_thread  # noqa: F401

SOURCE = ProblemSource(dataset="digits", n_train=60, n_test=12, n_queries=5, n_candidates=20, pool=2, l2=1e-2)
LOO = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})


def test_a_group_has_one_run_whatever_its_order(tmp_path):
    data = groups.group_payload(SOURCE, LOO, [9, 2])
    assert data == groups.group_payload(SOURCE, LOO, [2, 9, 9])
    table = groups.load(run_job(groups.GROUP, data, tmp_path))
    found = group_effect(SOURCE.build().problem, LOO, [2, 9])
    np.testing.assert_allclose(table["whole group"], found.whole, atol=1e-9)
    np.testing.assert_allclose(table["additivity gap"], found.gap, atol=1e-9)
    alone = groups.load(run_job(groups.GROUP, groups.group_payload(SOURCE, LOO, [2, 9], singles=False), tmp_path))
    np.testing.assert_allclose(alone["whole group"], found.whole, atol=1e-9)
    assert list(alone.columns) == ["query", "whole group", "trusted"] and alone.trusted.all()


def test_a_curve_of_the_first_candidates(tmp_path):
    table = groups.load(run_job(groups.CURVE, groups.curve_payload(SOURCE, [LOO], 10, "query_loss", 3, 2), tmp_path))
    assert list(table.ranking) == ["0"] * 3 and list(table.removed) == [1, 2, 5] and set(table.groups) == {2}
    np.testing.assert_allclose(table.change[0], table["sum of single effects"][0], atol=1e-7)
