"""Queries that know only some of their candidates: what a loop over the queries finds."""

import numpy as np

from engine.metrics.agreement import kendall_tau, pairwise
from engine.metrics.subsets import over_known


def test_each_query_is_compared_over_the_candidates_that_it_knows():
    rng = np.random.default_rng(0)
    stack, known = rng.normal(size=(2, 6, 9)), rng.random((6, 9)) > 0.4
    known[0], known[1], known[2] = True, False, np.arange(9) == 4
    found = over_known(lambda part: pairwise(part, ["kendall"]), np.where(known, stack, 1e9), known)["kendall"]
    assert found.shape == (2, 2, 6) and np.isnan(found[0, 1, [1, 2]]).all()
    for query in (0, 3, 4, 5):
        a, b = stack[:, query:query + 1, known[query]]
        assert found[0, 1, query] == kendall_tau(a, b)[0]


def test_where_nothing_is_known_there_is_no_agreement():
    stack = np.arange(12.0).reshape(2, 2, 3)
    found = over_known(lambda part: pairwise(part, ["kendall", "sign"]), stack, np.zeros((2, 3), bool))
    assert sorted(found) == ["kendall", "sign"] and all(np.isnan(values).all() for values in found.values())
