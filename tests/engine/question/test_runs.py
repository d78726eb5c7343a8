"""Seeds as a part of T: which runs, what is said of them, and digests that were there before."""

import pytest

from engine.question.processes import OneStep, Replay, Retrain
from engine.question.runs import of_runs, other_runs
from engine.question.specification import Specification


@pytest.mark.parametrize(("process", "title", "said", "runs"), [
    (Retrain(), "retrain", "from scratch", [3]),
    (Retrain(seeds=2), "retrain, 2 seeds", "from scratch, on average over 2 seeds", [3, 4]),
    (Retrain(first=4), "retrain, seed +4", "from scratch, with another seed, 4 after the model's own", [7]),
    (Replay(seeds=2, first=1), "replay, 2 seeds from seed +1",
     "and batches, on average over 2 seeds, from 1 after the model's own", [4, 5])])
def test_which_runs_and_what_is_said_of_them(process, title, said, runs):
    assert process.title == title and process.clause.endswith(said) and list(process.runs(3)) == runs


def test_the_models_own_seed_is_not_written():
    """Digests are those of the time before there were others."""
    assert Retrain().model_dump() == {"seeds": 1, "kind": "retrain"}
    assert Retrain(first=1).model_dump()["first"] == 1
    before = Specification.of("query_loss", {"kind": "remove"}, {"kind": "retrain", "seeds": 3})
    assert before.digest == "30e0bdfd7afee74865809946e3b8c8a1063998a566223726f19ef17583cce318"
    assert Specification.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"}).digest == (
        "073e86ac78a1bcf6e66c075dc06e7e7e3947da0f511d3b83c82d0f0ba8232625")


def test_the_same_process_of_other_runs():
    assert other_runs(Retrain(), Retrain(seeds=5)) and other_runs(Replay(eta=2), Replay(eta=2, first=1))
    assert not other_runs(Retrain(), Retrain()) and not other_runs(Retrain(), Replay(first=1))
    assert not other_runs(Replay(eta=2), Replay(eta=1, first=1)) and not other_runs(Retrain(), OneStep(eta=1))
    assert of_runs(Retrain(), Replay(seeds=3, first=2)) == Retrain(seeds=3, first=2)
    assert of_runs(OneStep(eta=1), Retrain(first=1)) == OneStep(eta=1)
