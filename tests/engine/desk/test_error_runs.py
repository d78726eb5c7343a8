"""Runs of error curves: one for all registered behaviors, another for words of one's own, after these were checked."""

import numpy as np
import pytest

from engine.analysis import error_curves
from engine.analysis.error_curves import ALPHAS, ETAS
from engine.basics.errors import InvalidInput
from engine.desk import Waiting
from engine.desk import error_curves as desk_curves
from engine.desk.error_runs import error_run
from engine.jobs import job_digest, run_job
from engine.problems import ProblemSource
from engine.requests.scores import ScoresRequest
from engine.requests.training import TrainingRequest
from tests.engine.requests_for_tests import scores_payload, training_payload

TINY = {"rank": 4, "epochs": 1, "learning_rate": 5e-3, "batch": 16, "context": 128, "checkpoints": 1}
SOURCE = ProblemSource(dataset="world_corruption", model="World-0.4M", n_train=8, n_queries=3, n_test=3, recipe=TINY)
SPAN = "span:The answer is"


def titles(desk):
    return [job.title for job in desk.jobs.queue.jobs("queued")]


@pytest.mark.parametrize("panel, scorings", [("eta", error_curves.eta_scorings("causal")),
                                             ("alpha", error_curves.alpha_scorings(kind="causal"))])
@pytest.mark.parametrize("behavior", [None, "answer_logit"])
def test_registered_behaviors_share_the_run_that_they_always_had(desk, panel, scorings, behavior):
    waiting = error_run(desk, SOURCE, panel, 4, behavior)
    assert waiting.job == job_digest(ScoresRequest.name, scores_payload(SOURCE, scorings, 4, precision="float64"))
    assert titles(desk) == [f"Error curves over {'η' if panel == 'eta' else 'α'} on World questions, some with wrong "
                            "answers, World-0.4M, seed 0, 4 candidates"]


def test_words_of_ones_own_are_checked_and_have_a_run_of_their_own(desk):
    before = error_run(desk, SOURCE, "eta", 4, SPAN)
    assert isinstance(before, Waiting) and titles(desk) == [before.what] and before.what.startswith("Training")
    run_job(TrainingRequest.name, training_payload(SOURCE))
    with pytest.raises(InvalidInput, match="With seed 0: “mammal” does not occur in the response"):
        error_run(desk, SOURCE, "eta", 4, "span:mammal")
    waiting = error_run(desk, SOURCE, "eta", 4, SPAN)
    assert "Error curves of the span “The answer is” over η on" in waiting.what
    payload = scores_payload(SOURCE, error_curves.eta_scorings("causal", [SPAN]), 4, precision="float64")
    assert waiting.job == job_digest(ScoresRequest.name, payload)


@pytest.mark.slow
def test_words_of_ones_own_along_the_step(desk):
    run_job(TrainingRequest.name, training_payload(SOURCE))
    scorings = error_curves.eta_scorings("causal", [SPAN])
    run_job(ScoresRequest.name, scores_payload(SOURCE, scorings, 4, precision="float64"))
    curves = desk_curves.eta_curves(desk, [SOURCE], candidates=4, behavior=SPAN)
    assert curves.complete and set(curves.means["series"]) == {"span “The answer is”"} and set(
        curves.means["x"]) == set(ETAS)
    point = desk_curves.eta_point(desk, SOURCE, SPAN, ETAS[0], 4)
    np.testing.assert_array_equal(
        point.agreement["kendall_tau"],
        desk_curves.step_numbers(desk, SOURCE, ETAS[0], 4, SPAN)[SPAN]["kendall_tau"])


@pytest.mark.slow
def test_words_of_ones_own_along_the_weight(desk):
    source = ProblemSource(dataset="world_corruption", model="World-0.4M", n_train=4, n_queries=2, n_test=2,
                           recipe={**TINY, "rank": 1})
    run_job(TrainingRequest.name, training_payload(source))
    scorings = error_curves.alpha_scorings(kind="causal", behaviors=["contrast"])
    run_job(ScoresRequest.name, scores_payload(source, scorings, 2, precision="float64"))
    desk.sampled(source)
    curves = desk_curves.alpha_curves(desk, [source], 2, "contrast")
    assert curves.complete and set(curves.means["x"]) == set(ALPHAS)
    points = desk_curves.alpha_points(desk, source, "contrast", ALPHAS[0], 2, "cg_gauss_newton")
    assert set(points) == set(error_curves.solvers("causal"))
