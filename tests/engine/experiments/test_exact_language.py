"""Exact references for a language model, end to end at a tiny size: the tables against plain computation."""

import numpy as np
import pytest

from engine.analysis.datamodels import linear_datamodeling_score
from engine.experiments import EXPERIMENTS, exact_language
from engine.experiments.agreements import Bounded, per_query
from engine.experiments.contents import contents
from engine.jobs import run_job
from engine.problems import ProblemSource
from engine.question.behaviors import reading
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

SOURCE = {**exact_language.SOURCE, "n_train": 16, "n_test": 4, "n_queries": 3, "n_candidates": 6,
          "recipe": {"rank": 2, "epochs": 1, "learning_rate": 5e-3, "batch": 4, "context": 256}}
SETTINGS = {"numerics": 1, "curve": 2, "removed": 2, "subsets": 3, "source": SOURCE}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def result(home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHFLUENCE_HOME", str(home))
        patch.setattr(exact_language, "ETAS", (0.01, 1.0))
        payload = {"study": exact_language.STUDY.name, "preset": "tiny", "seeds": [0], "settings": SETTINGS,
                   "contents": contents(SETTINGS)}
        yield run_job(exact_language.STUDY.name, payload, home)


@pytest.fixture
def problem(home, result, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(home))
    return ProblemSource.parse({**SOURCE, "seed": 0}).build().problem


def value(result, table, **keys):
    frame = result.table(table)
    for name, wanted in keys.items():
        frame = frame[frame[name] == wanted]
    assert len(frame) == 1
    return frame["mean"].item()


@pytest.mark.parametrize("method", ("GradSim", "LESS", "TRAK"))
def test_a_row_is_the_mean_agreement_with_the_exact_step(result, problem, method):
    exact = Scoring.of("answer_logit", exact_language.ADD, exact_language.ONE_STEP)
    two = compute(problem, [exact, exact_language.implied(method, "answer_logit")])
    expected = np.nanmean(per_query(Bounded.of(two[1]), Bounded.of(two[0]))["kendall_tau"])
    found = value(result, "steps", method=method, behavior="answer_logit", metric="Kendall tau")
    assert found == pytest.approx(expected, abs=1e-6)


def test_first_order_is_closer_for_a_short_step(result):
    near, far = (value(result, "curve", eta=eta, behavior="response_loss", metric="Kendall tau")
                 for eta in ("0.01", "1.0"))
    assert near == pytest.approx(1.0) and far <= near


def test_linear_datamodeling_scores_are_those_of_the_models(result, problem):
    scores = compute(problem, exact_language.implied("GradSim", "response_loss"))[0]
    kept = exact_language.subsets(6, 3, exact_language.SHARE, 0)
    models = exact_language.retrain_on(problem, kept)
    expected = np.nanmean(linear_datamodeling_score(scores, models.outcomes("response_loss"), kept))
    found = value(result, "subsets", method="GradSim", behavior="response_loss", metric="LDS")
    assert found == pytest.approx(expected, abs=1e-6)


def test_every_estimator_that_answers_is_there_with_baselines_and_the_noise_floor(result):
    methods = set(result.table("steps")["method"])
    assert set(exact_language.methods()) | set(exact_language.BASELINES) < methods
    assert {"Exact removal, another seed", exact_language.STEP} < set(result.table("removal")["method"])
    assert exact_language.STEP in set(result.table("subsets")["method"])
    assert set(result.table("removal")["behavior"]) == set(reading("tokens"))
    for name in ("language-steps", "language-curve", "language-removal", "language-lds"):
        experiment = EXPERIMENTS[name]
        frame = experiment.view({table: result.table(table) for table in result.tables})
        assert not frame.duplicated(list(experiment.keys)).any()
