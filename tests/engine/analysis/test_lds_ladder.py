"""The ladder of an LDS: bars that sum to 1, each the difference of two scores that are computed apart."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from engine.analysis.lds_ladder import LadderRequest, steps
from engine.analysis.subset_bank import Draw, bank
from engine.basics.errors import InvalidInput
from engine.cli import main
from engine.external.importing import matched, scoring_of
from engine.external.matching import QUERIES
from engine.external.table import Table
from engine.question.processes import LocalResponse, Replay
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store import external_scores
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


def test_the_ladder_of_imported_scores_begins_with_them_and_goes_on_with_their_claim(tmp_path, monkeypatch):
    monkeypatch.setenv("WHICHFLUENCE_HOME", str(tmp_path))
    own, claim = problem(n=24, classes=3, queries=4, candidates=range(24)), STEP.exact_answer
    theirs = compute(own, claim)[0].oriented + np.random.default_rng(0).normal(size=(4, 24))
    held = matched(own, Table(theirs), QUERIES)
    external_scores.keep(held)
    store = Store(tmp_path / "store")
    answer = LadderRequest(scoring=scoring_of(held, claim, "theirs", "plus"), behavior="query_loss", models=6).run(
        own, store=store)
    rungs = answer.rungs.set_index("rung")
    assert list(rungs.index) == ["score", "approximation", "behavior", "question", "size", "linearity"]
    assert rungs["bar"].sum() == pytest.approx(1)
    models = bank(own, Draw(count=6, share=0.5), store)
    sums = [spearmanr(row @ models.members.T, out)[0] for row, out in zip(
        theirs, models.outcomes("query_loss"), strict=True)]
    assert rungs["lds"]["score"] == pytest.approx(np.mean(sums))
    assert rungs["lds"]["approximation"] == pytest.approx(lds(own, claim, models, "query_loss"))


def test_the_command_takes_a_specification_or_a_file_of_scores(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own = problem(n=24, classes=3, queries=4, candidates=range(24))
    np.savez("problem.npz", x_train=own.x, y_train=own.y, x_query=own.queries, y_query=own.query_labels)
    np.save("theirs.npy", compute(own, STEP)[0].oriented)
    Path("spec.json").write_text(STEP.model_dump_json())
    assert main(["bring", "--scores", "theirs.npy", "--data", "problem.npz", "--spec", "spec.json", "--name", "theirs",
                 "--sign", "plus", "--axes", "queries", "--out", "theirs.npz"]) == 0
    ladder = ["lds-ladder", "--data", "problem.npz", "--models", "4", "--out", "ladder.csv"]
    assert main([*ladder, "--scores", "theirs.npz"]) == 0
    rungs = pd.read_csv("ladder.csv")
    assert rungs["measured"][0].endswith("theirs") and rungs["bar"].sum() == pytest.approx(1)
    for more in ([], ["--spec", "spec.json", "--scores", "theirs.npz"]):
        assert main([*ladder, *more]) != 0
        assert "Give one specification with --spec, or one file of scores with --scores." in capsys.readouterr().err


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
