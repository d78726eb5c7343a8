"""The job that asks several training runs: what its chunks leave is what the analysis finds in one go."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.over_seeds import MeanOverSeedsRequest, SeedRunsRequest, distribution, of_runs, spread
from engine.basics.errors import Undifferentiable
from engine.desk import Desk, Waiting
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import answered

RECIPE = Recipe(epochs=1, batch_size=8, learning_rate=0.05)
NETWORK = ProblemSource(dataset="digits", model="mlp", n_train=24, n_test=20, n_queries=3, n_candidates=5,
                        recipe=RECIPE.model_dump())
REMOVED = Scoring.of("soft_margin", {"kind": "remove"}, {"kind": "retrain", "seeds": 5, "first": 1})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: None)


def test_the_job_finds_what_the_analysis_finds():
    request = SeedRunsRequest(scoring=REMOVED, candidates=4, seeds=5)
    waiting = Desk().ask(request.of(NETWORK))
    assert isinstance(waiting, Waiting) and "5 seeds" in waiting.what and "examples: 4" in waiting.what
    answer, problem = answered(request, NETWORK), NETWORK.build().problem
    found = of_runs(answer.single, REMOVED, NETWORK.seed)
    problem = problem.with_candidates(problem.candidates[:4])
    direct = MeanOverSeedsRequest(scoring=REMOVED, stable=1.0, most=5).run(problem)
    assert list(found.single) == list(direct.single) == list(range(1, 6))
    np.testing.assert_allclose(found.scores.values, direct.scores.values, rtol=1e-9)
    pd.testing.assert_frame_equal(found.table, direct.table)
    pd.testing.assert_frame_equal(spread(found, answer.outcomes), distribution(problem, direct), rtol=1e-9)


def test_a_training_without_a_derivative_says_why(monkeypatch):
    def refuse(*_):
        raise Undifferentiable("The training diverged.")

    monkeypatch.setattr("engine.analysis.over_seeds.compute", refuse)
    scoring = Scoring.of("soft_margin", {"kind": "infinitesimal"}, {"kind": "replay", "seeds": 4})
    request = SeedRunsRequest(scoring=scoring, candidates=2, seeds=4)
    assert answered(request, NETWORK) == Desk().ask(request.of(NETWORK)) == "The training diverged."
