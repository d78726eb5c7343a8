"""The ladder of an LDS: bars that sum to 1, each the difference of two scores that are computed apart."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from engine.analysis.lds_ladder import LadderRequest, steps
from engine.analysis.subset_bank import Draw, bank
from engine.basics.errors import InvalidInput
from engine.question.processes import LocalResponse, Replay
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store.results import Store
from tests.engine.analysis.test_scorecard import network
from tests.engine.problems_for_tests import problem
from tests.engine.single_thread import one_thread  # noqa: F401

STEP = Scoring.of("query_logit", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "first_order")


def lds(problem, scoring, models, behavior):
    scores, outcomes = compute(problem, scoring)[0].oriented, models.outcomes(behavior)
    return np.mean([spearmanr(row @ models.members.T, out)[0] for row, out in zip(scores, outcomes, strict=True)])


@pytest.mark.parametrize("make", [lambda: problem(n=24, classes=3, queries=4, candidates=range(24)), network])
def test_bars_sum_from_the_score_to_one_and_each_is_measured(make, tmp_path):
    own, store = make(), Store(tmp_path)
    answer = LadderRequest(scoring=STEP, behavior="query_loss", models=6, among="all").run(own, store=store)
    rungs = answer.rungs.set_index("rung")
    expected = ["score", *([] if own.convex else ["seed"]), "behavior", "approximation", "question", "size",
                "linearity"]
    assert list(rungs.index) == expected and not rungs["note"].any()
    assert rungs["bar"].sum() == pytest.approx(1) and rungs["lds"].iloc[-1] == 1
    asked = Draw(count=6, share=0.5, among="all", protocol="subset", later=0 if own.convex else 1)
    models, same = bank(own, asked, store), bank(own, Draw(count=6, share=0.5, among="all"), store)
    assert rungs["lds"]["score"] == pytest.approx(lds(own, STEP, models, "query_loss"))
    before = lds(own, STEP, same, "query_loss")
    for name, scoring in steps(STEP, "query_loss", own):
        value = lds(own, scoring, same, "query_loss")
        assert rungs["lds"][name] == pytest.approx(value) and rungs["bar"][name] == pytest.approx(value - before)
        before = value


def test_a_rung_without_an_answer_is_left_out_and_the_bars_still_sum_to_one(tmp_path):
    own = network()
    answer = LadderRequest(scoring=STEP.exact_answer, models=6, most_seconds=0.0).run(own, store=Store(tmp_path))
    rungs = answer.rungs.set_index("rung")
    assert rungs["note"]["question"].startswith("It would take about") and np.isnan(rungs["bar"]["question"])
    assert rungs["bar"].sum() == pytest.approx(1)


def test_rungs_change_one_thing_at_a_time():
    own = network()
    trak = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"}, "trak")
    listed = dict(steps(trak, "query_loss", own))
    assert list(listed) == ["dimension", "ridge_rule", "models", "approximation"], "its own question is of removals"
    assert [one.estimator for one in listed.values()] == [
        "trak;dimension=2048", "trak;dimension=2048;ridge_rule=loo", "trak;dimension=2048;ridge_rule=loo;models=4",
        "exact"]
    source = Scoring.of("query_loss", {"kind": "infinitesimal"}, Replay(), "source")
    assert "question" not in dict(steps(source, "query_loss", own)), "its own question is that derivative"
    lissa = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.1}, "lissa")
    listed = dict(steps(lissa, "query_loss", own))
    assert listed["iterations"].estimator == "lissa;iterations=200"
    assert listed["damping"].process == LocalResponse(damping=0.01) and listed["damping"].exact


def test_rungs_of_layers_and_checkpoints():
    own = network(checkpoints=2)
    last = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "representer")
    assert dict(steps(last, "query_loss", own))["layers"].estimator == "first_order"
    trajectory = {"kind": "trajectory", "eta": 0.1, "checkpoints": 1}
    tracin = Scoring.of("query_loss", {"kind": "add_occurrence"}, trajectory, "first_order")
    listed = dict(steps(tracin, "query_loss", own))
    assert listed["checkpoints"].process.checkpoints == 2
    assert listed["checkpoints"].estimator == "first_order"


def test_a_baseline_has_no_ladder():
    with pytest.raises(InvalidInput, match="implies no specification"):
        LadderRequest(scoring=Scoring.parse({"estimator": "random"})).run(problem(n=12, queries=2))
