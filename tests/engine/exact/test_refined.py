"""A model refined by L-BFGS: against SciPy's optimum, against a search without a change, and what it says of itself."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from engine.basics.errors import InvalidInput
from engine.exact.local_search import local_search
from engine.exact.refined import refined
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Relabel
from engine.question.processes import LocalSearch
from tests.engine.exact import network_cases as cases
from tests.engine.exact.spelt_out import Spelt, objective
from tests.engine.problems_for_tests import assert_close

LOSS = BEHAVIORS["query_loss"]


def test_many_iterations_end_at_scipys_optimum():
    problem = cases.problem(cases.smooth, (4,), l2=0.2, n=12)
    there = refined(problem, 300)
    reference = minimize(objective(problem, 0, Spelt(1.0, []), 0.0), problem.theta.numpy(), jac=True, method="BFGS",
                         options={"gtol": 1e-10, "maxiter": 2000})
    assert_close(there.query_logits, problem.outputs(problem.queries, torch.tensor(reference.x)), 1e-5, 1e-8)
    assert there.facts["factual_gradient_norm"] < 1e-8 < problem.facts["factual_gradient_norm"]


def test_it_is_where_a_search_without_a_change_ends():
    problem = cases.problem(cases.smooth, (4,))
    unchanged = Relabel(label=int(problem.y[0]))
    drift = cases.scores(local_search, problem, [unchanged], LocalSearch(iterations=7), LOSS, [0])
    values = [LOSS.value(one.query_logits, one.query_labels) for one in (refined(problem, 7), problem)]
    assert np.abs(drift).max() > 1e-3
    np.testing.assert_allclose((values[0] - values[1]).numpy(), np.ravel(drift), rtol=1e-9)


def test_it_is_kept_and_takes_the_candidates_of_the_problem():
    problem = cases.problem(cases.smooth, (4,), dtype="float32")
    first = refined(problem, 3)
    few = refined(problem.with_candidates([4, 1]), 3)
    assert few.candidates.tolist() == [4, 1] and len(first.candidates) == problem.n
    assert few.theta is first.theta and few.precision == "float64" and few.l2 == problem.l2
    with pytest.raises(InvalidInput, match="is unknown"):
        few.training()
