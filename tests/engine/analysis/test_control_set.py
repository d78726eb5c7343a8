"""A set of queries minus a control set, against the means of its scores."""

import numpy as np
import pytest

from engine.analysis.control_set import ControlSetRequest
from engine.basics.errors import InvalidInput
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

REMOVAL = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})


def problem():
    return naive.problem(n=20, queries=5, candidates=[4, 2, 7])


@pytest.mark.parametrize(("queries", "others"), [((), [0, 2, 4]), ((4, 0), [0, 4])])
def test_it_is_the_difference_of_oriented_means(queries, others):
    answer = ControlSetRequest(scoring=REMOVAL, control=(1, 3), queries=queries).run(problem())
    values = -compute(problem(), REMOVAL)[0].values
    np.testing.assert_allclose(answer.control, values[[1, 3]].mean(0), rtol=1e-9)
    np.testing.assert_allclose(answer.queries, values[others].mean(0), rtol=1e-9)
    np.testing.assert_allclose(answer.difference, values[others].mean(0) - values[[1, 3]].mean(0), rtol=1e-9)
    assert answer.candidates.tolist() == [4, 2, 7]


@pytest.mark.parametrize(("control", "queries", "said"), [
    ((5,), (), "no query 5"), ((1,), (1, 2), "Query 1 is in both"), ((), (1,), "name at least one control"),
    (range(5), (), "leave at least one")])
def test_sets_without_sense_are_refused(control, queries, said):
    with pytest.raises(InvalidInput, match=said):
        ControlSetRequest(scoring=REMOVAL, control=tuple(control), queries=queries).run(problem())
