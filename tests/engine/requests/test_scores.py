"""The job that computes scores: the same numbers as `compute`, in slices, resumable, in the order asked for."""

import numpy as np
import pytest

from engine.basics.errors import Cancelled, InvalidInput
from engine.jobs import KINDS, Watch, job_digest, run_job
from engine.problems import ProblemSource
from engine.question.behaviors import BEHAVIORS, register_behavior
from engine.requests import check_queued
from engine.requests.scores import ScoresRequest
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Store
from tests.engine import problems_for_tests as naive
from tests.engine.requests_for_tests import scores_payload

SOURCE = ProblemSource(dataset="digits", n_train=60, n_test=12, n_queries=5, n_candidates=8, pool=2, l2=1e-2)
ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
REMOVE, REOPTIMIZE = {"kind": "remove"}, {"kind": "reoptimize"}
SCORINGS = [Scoring.of("query_loss", REMOVE, REOPTIMIZE), Scoring.of("query_loss", ADD, STEP),
            Scoring.of("correct", REMOVE, REOPTIMIZE), Scoring.of("hard_margin", ADD, STEP, "first_order")]


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr("engine.requests.scores.SLICE", 3)


class Recorder(Watch):
    def __init__(self, stop_after=None):
        self.seen, self.stop_after = [], stop_after

    def report(self, progress):
        self.seen.append(progress)

    def between_chunks(self):
        if self.seen and self.seen[-1].done == self.stop_after:
            raise Cancelled("Stopped.")


def test_the_scores_are_those_of_compute(tmp_path):
    data = scores_payload(SOURCE, SCORINGS)
    plan = KINDS[ScoresRequest.name].plan(data)
    assert sorted(plan) == [f"{group}/{part}" for group in range(3) for part in range(3)]
    result = run_job(ScoresRequest.name, data, tmp_path)
    expected = compute(SOURCE.build().problem, SCORINGS)
    for found, scores in zip(ScoresRequest.loaded(result), expected, strict=True):
        assert found.scoring == scores.scoring
        naive.assert_close(found.values, scores.values, 1e-6, 1e-12)
        np.testing.assert_array_equal(found.candidates, scores.candidates)
        assert found.converged.all() and found.residual.shape == (8,)
        assert found.provenance["sizes"] == scores.provenance["sizes"]
        assert found.provenance["digest"] == scores.scoring.digest
        assert found.provenance["data"] == scores.provenance["data"]  # so that both can be compared
        told = found.provenance["convergence"]
        assert told["of"] == told["converged" if found.scoring.exact else "kept"] == 8
        assert found.provenance["convergence"]["largest_residual"] == found.residual.max()
    assert result.manifest["seeds"] == [0] and result.manifest["device"]
    assert result.manifest["source"] == SOURCE.model_dump(mode="json")


def test_one_computation_for_all_candidates_is_one_chunk(tmp_path):
    """A replay goes back from five queries for all eight examples at once."""
    asked = [SCORINGS[1], Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay", "steps": 20})]
    data = scores_payload(SOURCE, asked)
    assert KINDS[ScoresRequest.name].plan(data) == ["1/0", "0/0", "0/1", "0/2"]  # what takes less comes first
    found = ScoresRequest.loaded(run_job(ScoresRequest.name, data, tmp_path))
    for one, scores in zip(found, compute(SOURCE.build().problem, asked), strict=True):
        naive.assert_close(one.values, scores.values, 1e-12)
        np.testing.assert_array_equal(one.candidates, scores.candidates)


def test_fewer_candidates_are_a_prefix(tmp_path):
    drawn = SOURCE.build()
    result = run_job(ScoresRequest.name, scores_payload(SOURCE, SCORINGS[1:2], 4), tmp_path)
    [scores] = ScoresRequest.loaded(result)
    assert scores.candidates.tolist() == drawn.sample.candidates[:4].tolist() and scores.values.shape == (5, 4)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    keys = []
    monkeypatch.setattr("engine.requests.scores.compute",
                        lambda problem, scorings, options: (keys.append(problem.candidates.tolist()),
                                                            compute(problem, scorings, options))[1])
    data = scores_payload(SOURCE, SCORINGS)
    with pytest.raises(Cancelled):
        run_job(ScoresRequest.name, data, tmp_path, watch=Recorder(stop_after=4))
    assert len(keys) == 4 and not Store(tmp_path).has(job_digest(ScoresRequest.name, data))
    watch = Recorder()
    result = run_job(ScoresRequest.name, data, tmp_path, watch=watch)
    assert len(keys) == 9 and watch.seen[0].done == 4 and watch.seen[-1].share == 1.0
    shares = [progress.share for progress in watch.seen]
    assert shares == sorted(shares)
    whole = run_job(ScoresRequest.name, data, tmp_path / "other")
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(result.array(name), array, rtol=1e-6, atol=1e-9)
    run_job(ScoresRequest.name, data, tmp_path)
    assert len(keys) == 18, "a finished run is not computed again"


@pytest.mark.parametrize("change", [
    {"scorings": SCORINGS[:3]}, {"scorings": SCORINGS[::-1]}, {"candidates": 5},
    {"source": SOURCE.model_copy(update={"seed": 1})}, {"source": SOURCE.model_copy(update={"l2": 2e-2})},
])
def test_whatever_changes_the_scores_changes_the_digest(change):
    base = {"source": SOURCE, "scorings": SCORINGS, "candidates": None}
    digests = [job_digest(ScoresRequest.name, scores_payload(*arguments.values()))
               for arguments in (base, base, {**base, **change})]
    assert digests[0] == digests[1] != digests[2]


def test_a_payload_names_its_scorings_in_order():
    data = scores_payload(SOURCE, SCORINGS)
    request = ScoresRequest.of_payload(data)
    assert request.scorings == tuple(SCORINGS) and request.groups == [[0, 2], [1], [3]]


def test_budget_and_device_do_not_change_the_result(tmp_path):
    data = scores_payload(SOURCE, SCORINGS[:1])
    free, tight = (run_job(ScoresRequest.name, data, tmp_path / str(budget), options={"budget": budget})
                   for budget in (1 << 32, 20_000))
    naive.assert_close(free.array("0|values"), tight.array("0|values"), 1e-6)
    assert free.digest == tight.digest
    with pytest.raises(InvalidInput, match="`warp` is not available"):
        run_job(ScoresRequest.name, data, tmp_path / "device", options={"device": "warp"})


@pytest.mark.parametrize(("source", "asked", "drawn"), [
    (SOURCE.model_copy(update={"n_candidates": None, "n_train": 20}), None, 20), (SOURCE, 50, 8), (SOURCE, 0, 8),
], ids=["no number", "too many", "none"])
def test_a_number_of_candidates_that_cannot_be_had(source, asked, drawn, tmp_path):
    """Never a crash: one sentence, or all that the source draws."""
    try:
        result = run_job(ScoresRequest.name, scores_payload(source, SCORINGS[1:2], asked), tmp_path)
    except InvalidInput as refusal:
        assert "candidates" in str(refusal)
    else:
        assert result.array("candidates").shape == (drawn,)


def own_behavior(factor):
    register_behavior("mine", lambda logits, labels: factor * logits[..., 0], replace=True)
    return Scoring.of("mine", ADD, STEP)


@pytest.fixture
def unregistered():
    yield
    BEHAVIORS.remove("mine")


def test_a_users_own_behavior_runs_where_it_is_registered(tmp_path, unregistered):
    data = scores_payload(SOURCE, [own_behavior(2.0)])
    own_behavior(3.0)
    with pytest.raises(InvalidInput, match="requested behavior `mine` is another function in this process"):
        run_job(ScoresRequest.name, data, tmp_path)
    own_behavior(2.0)
    found = ScoresRequest.loaded(run_job(ScoresRequest.name, data, tmp_path))[0]
    np.testing.assert_array_equal(found.values, compute(SOURCE.build().problem, own_behavior(2.0))[0].values)


def test_a_worker_that_does_not_know_a_behavior_says_so(tmp_path):
    data = scores_payload(SOURCE, SCORINGS[1:2])
    data["scorings"][0] |= {"behavior": "mine", "behavior_fingerprint": "0" * 16}
    with pytest.raises(InvalidInput, match="requested behavior `mine` is not registered in this process"):
        run_job(ScoresRequest.name, data, tmp_path)


def test_a_users_own_behavior_is_not_queued(unregistered):
    with pytest.raises(InvalidInput, match="`mine` is known to this process only"):
        check_queued([SCORINGS[0], own_behavior(2.0)])
    check_queued(SCORINGS)


def test_the_solver_of_a_network_weighs_more_than_its_steps_in_the_time_left():
    from engine.scoring.controlled import response, step_scoring

    source = ProblemSource(model="mlp", n_train=200, n_queries=50)
    request = ScoresRequest(scorings=(step_scoring("query_loss", 0.1), response(solver="ekfac")), candidates=20,
                            source=source)
    steps, solver = request.weight("0/0"), request.weight("1/0")
    assert 3 < solver / steps < 30
