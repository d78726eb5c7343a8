"""What was computed of a problem, taken over by the same problem elsewhere."""

import pytest
import torch

from engine.problems import ProblemSource
from engine.problems.handed import handed, take
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

SOURCE = ProblemSource(dataset="digits", n_train=60, n_test=10, n_queries=4, n_candidates=12, pool=2)
SCORINGS = [Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}),
            Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})]


def values(problem, scorings=SCORINGS):
    return [scores.values.tobytes() for scores in compute(problem, scorings)]


@pytest.mark.parametrize(("scoring", "name"), [
    (Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.3}, "ekfac"),
     "asked/ekfac"),
    (Scoring.of("query_loss", {"kind": "remove"}, {"kind": "local_search"}), "double/asked/inputs_arranged")],
    ids=lambda given: given if isinstance(given, str) else given.estimator)
@pytest.mark.filterwarnings("ignore:The Hessian plus damping")
def test_so_are_those_of_a_network_in_float32_and_in_float64(scoring, name, monkeypatch, tmp_path):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    source = ProblemSource(dataset="digits", n_train=60, n_test=10, n_queries=3, n_candidates=4, pool=4, model="mlp",
                           recipe={"epochs": 1, "learning_rate": 0.05, "batch_size": 50})
    own, other = (source.build().problem for _ in range(2))
    expected = values(own, [scoring])
    parcels = handed(own)
    assert name in parcels and handed(own, without=parcels) == {}
    take(other, parcels)
    assert set(handed(other)) == set(parcels) and values(other, [scoring]) == expected


def test_scores_are_the_same_with_what_another_has_computed():
    own, other = (SOURCE.build().problem for _ in range(2))
    expected = values(own)
    parcels = handed(own)
    assert {"model/fit", "asked/cholesky", "asked/training_data"} <= set(parcels)
    take(other, parcels)
    assert other.cholesky().data_ptr() == own.cholesky().data_ptr()
    assert values(other) == expected


def test_what_is_there_stays_and_what_was_taken_is_not_handed_on():
    own, other = (SOURCE.build().problem for _ in range(2))
    own.prepare()
    fit, parcels = other.fit, handed(own)
    take(other, parcels)
    assert other.fit is fit
    other.memo("more", lambda: torch.ones(2))
    assert set(handed(other, without=parcels)) == {"asked/more"}


def test_another_damping_is_factorised_anew():
    own, other = (SOURCE.build().problem for _ in range(2))
    own.cholesky(0.1)
    take(other, handed(own))
    assert not torch.equal(other.cholesky(0.2), own.cholesky(0.1))


def test_what_cannot_be_packed_is_left_to_whoever_needs_it():
    problem = SOURCE.build().problem
    problem.memo("function", lambda: lambda: 1)
    assert "asked/function" not in handed(problem)
