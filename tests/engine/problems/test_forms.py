"""Which form a problem has is what it declares: a kind of another class that is linear has the same closed forms."""

import numpy as np
import pytest

from engine.analysis.linear_range import LinearRangeRequest
from engine.basics.options import Options
from engine.problems import by_form
from engine.problems.variants import trained_on, with_random_weights
from engine.scoring.compute import compute
from engine.scoring.cost import guess
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.exact import network_cases as cases

STEP, REMOVE = {"kind": "one_step", "eta": 0.1}, {"kind": "remove"}
ASKED = [("add_occurrence", STEP, "exact"), ("add_occurrence", STEP, "first_order"), ("auxiliary", STEP, "exact"),
         ("add_occurrence", {"kind": "trajectory", "eta": 0.1}, "exact"), ("remove", {"kind": "local_search"}, "exact"),
         ("infinitesimal", {"kind": "local_response"}, "exact"), ("remove", {"kind": "reoptimize"}, "exact"),
         ("remove", {"kind": "retrain"}, "exact"), ("infinitesimal", {"kind": "replay", "steps": 9}, "exact"),
         *(("infinitesimal", {"kind": "replay", "steps": 9}, name)
           for name in ("source", "dvemb", "tracin_run", "in_run_shapley"))]


class Other:
    """A kind of problem that is of no known class, and answers as the softmax regression behind it."""

    def __init__(self, behind):
        self.behind = behind

    def __getattr__(self, name):
        return getattr(self.behind, name)


@pytest.fixture(scope="module")
def sides():
    soft = naive.problem(n=20, candidates=[4, 2, 7])
    return soft, Other(soft)


@pytest.mark.parametrize(("intervention", "process", "estimator"), ASKED)
def test_no_answer_goes_by_the_class(sides, intervention, process, estimator):
    scoring = Scoring.of("query_loss", {"kind": intervention}, process, estimator)
    expected, found = (compute(problem, scoring)[0] for problem in sides)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.bound, expected.bound)


def test_neither_do_costs_variants_and_knobs(sides):
    scoring = Scoring.of("query_loss", REMOVE, {"kind": "reoptimize"})
    assert guess([scoring], sides[1], 3) == guess([scoring], sides[0], 3)
    again = [trained_on(problem, problem.examples, Options()).weights for problem in sides]
    np.testing.assert_array_equal(*again)
    np.testing.assert_array_equal(*(with_random_weights(problem, 3).weights for problem in sides))
    found = [LinearRangeRequest(candidates=2).run(problem) for problem in sides]
    assert found[0].sentence == found[1].sentence and found[0].knobs == found[1].knobs


def test_a_function_of_both_forms_hands_on_what_it_is_given():
    asked = by_form(lambda problem, first, second=2: ("closed", problem.noun, first, second),
                    lambda problem, first, second=2: ("network", problem.noun, first, second))
    assert asked(naive.problem(), 1) == ("closed", "softmax regression", 1, 2)
    assert asked(cases.problem(), 1, second=3) == ("network", "a neural network", 1, 3)
