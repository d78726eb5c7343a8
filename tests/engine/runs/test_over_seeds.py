"""The job that asks several training runs: what its chunks leave is what the analysis finds in one go."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.over_seeds import distribution, over_seeds, spread
from engine.desk import Desk, Waiting
from engine.desk.over_seeds import asked_over_seeds
from engine.jobs import run_job
from engine.models.recipe import Recipe
from engine.problems import ProblemSource
from engine.runs import over_seeds as runs
from engine.scoring.scoring import Scoring

RECIPE = Recipe(epochs=1, batch_size=8, learning_rate=0.05)
NETWORK = ProblemSource(dataset="digits", model="mlp", n_train=24, n_test=20, n_queries=3, n_candidates=5,
                        recipe=RECIPE.model_dump())
REMOVED = Scoring.of("soft_margin", {"kind": "remove"}, {"kind": "retrain", "seeds": 5, "first": 1})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    monkeypatch.setattr("engine.desk.jobs.ensure_worker", lambda root: None)


def test_the_job_finds_what_the_analysis_finds():
    asked = lambda: asked_over_seeds(Desk(), NETWORK, REMOVED, 4, 5)  # noqa: E731
    waiting = asked()
    assert isinstance(waiting, Waiting) and "5 seeds" in waiting.what and "examples: 4" in waiting.what
    run_job(runs.KIND, runs.payload(NETWORK, REMOVED, 4, 5))
    found, problem = asked(), NETWORK.build().problem
    problem = problem.with_candidates(problem.candidates[:4])
    direct = over_seeds(problem, REMOVED, stable=1.0, most=5)
    assert list(found.found.single) == list(direct.single) == list(range(1, 6))
    np.testing.assert_allclose(found.found.scores.values, direct.scores.values, rtol=1e-9)
    pd.testing.assert_frame_equal(found.found.table, direct.table)
    pd.testing.assert_frame_equal(spread(found.found, found.outcomes), distribution(problem, direct), rtol=1e-9)


def test_a_training_without_a_derivative_says_why(monkeypatch):
    def refuse(*_):
        raise runs.Undifferentiable("The training diverged.")

    monkeypatch.setattr(runs, "compute", refuse)
    scoring = Scoring.of("soft_margin", {"kind": "infinitesimal"}, {"kind": "replay", "seeds": 4})
    run_job(runs.KIND, runs.payload(NETWORK, scoring, 2, 4))
    assert asked_over_seeds(Desk(), NETWORK, scoring, 2, 4) == "The training diverged."
