"""One setting turned: each value as it is scored alone, and what is refused."""

import numpy as np
import pytest

from engine.analysis.error_curves import agreement
from engine.analysis.setting_sweep import SettingSweepRequest
from engine.basics.errors import InvalidInput
from engine.problems import ProblemSource
from engine.scoring import controlled
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.requests_for_tests import answered

SOURCE = ProblemSource(dataset="digits", n_train=60, n_queries=5, n_candidates=12, l2=1e-2)
QUESTION = ("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.01})


def request(estimator="lissa;batch_size=32", **fields):
    return SettingSweepRequest(scoring=Scoring.of(*QUESTION, estimator), **fields)


def test_each_value_agrees_as_it_does_alone_and_the_job_says_the_same():
    asked = request(vary="own_damping", values="0.01, 0.5")
    problem = SOURCE.build().problem
    answer, exact = asked.run(problem), compute(problem, Scoring.of(*QUESTION))[0]
    for index, value in enumerate((0.01, 0.5)):
        alone = compute(problem, Scoring.of(*QUESTION, f"lissa;batch_size=32;own_damping={value}"))[0]
        np.testing.assert_array_equal(answer.kendall_tau[index], agreement(exact, alone)["kendall_tau"])
    stored = answered(asked, SOURCE)
    np.testing.assert_allclose(stored.kendall_tau, answer.kendall_tau)
    assert (stored.seconds > 0).all()


def test_a_value_whose_solver_missed_its_tolerance_has_no_agreement():
    answer = request("cg;tolerance=1e-10", vary="iterations", values="1,3,300").run(SOURCE.build().problem)
    assert answer.kendall_tau.mean(1)[-1] == 1  # and with few iterations no candidate met the tolerance:
    assert np.isnan(answer.kendall_tau[:2]).all()


def test_without_values_a_grid_around_the_default_is_taken_within_its_bounds():
    assert request(vary="own_damping").grid == [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5]
    assert request("lissa;averaged=5", vary="iterations").grid == [5, 10, 25, 50, 100, 250, 500]


def test_a_text_is_turned_through_all_that_it_may_be():
    removal = controlled.damped_removal("query_loss", "trak;dimension=8")
    assert SettingSweepRequest(scoring=removal, vary="ensemble").grid == ["trained", "checkpoints"]
    assert SettingSweepRequest(scoring=removal, vary="models").grid == [1, 2, 5, 10]


def test_models_of_trak_and_segments_of_source_are_turned():
    recipe = {"epochs": 2, "batch_size": 10, "learning_rate": 0.1, "checkpoints": 2}
    network = ProblemSource(dataset="digits", n_train=20, n_queries=3, n_test=3, n_candidates=4, model="mlp",
                            recipe=recipe, pool=4).build().problem
    replay = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"}, "source;points=1")
    for asked in (SettingSweepRequest(scoring=controlled.damped_removal("query_loss", "trak;ensemble=checkpoints"),
                                      vary="models", values="1,2"),
                  SettingSweepRequest(scoring=replay, vary="segments", values="1,2")):
        answer, scorings = asked.run(network), list(asked.turned.values())
        exact, *approximate = compute(network, [asked.scoring.exact_answer, *scorings])
        for index, scores in enumerate(approximate):
            np.testing.assert_array_equal(answer.kendall_tau[index], agreement(exact, scores)["kendall_tau"])
        assert not np.array_equal(approximate[0].values, approximate[1].values)


@pytest.mark.parametrize(("estimator", "fields", "words"), [
    ("lissa", {"vary": "width"}, "it has `iterations`"), ("kfac", {"vary": "rank"}, "it has none"),
    ("lissa", {"vary": "iterations", "values": "5,50"}, "over the last 20 of 5"),
    ("lissa", {"vary": "iterations", "values": "50"}, "2 to 24 values"),
    ("lissa", {"vary": "iterations", "values": "50,many"}, "iterations")])
def test_what_cannot_be_turned_is_refused(estimator, fields, words):
    with pytest.raises(InvalidInput, match=words):
        _ = request(estimator, **fields).grid
