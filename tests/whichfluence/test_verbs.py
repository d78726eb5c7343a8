"""The library's verbs: what they return is what the engine computes, under the field's names."""


import numpy as np
import pandas as pd
import pytest
import torch

import whichfluence as wf
from engine.analysis.comparison import compare as compared
from engine.analysis.explanation import explain as explained
from engine.scoring.scoring import Scoring

STEP = wf.Specification("query_loss", wf.AddOccurrence(), wf.OneStep(eta=0.1))
RESPONSE = wf.Specification("query_loss", wf.Infinitesimal(), wf.LocalResponse())


@pytest.fixture(scope="module")
def problem():
    return wf.draw("digits", n_train=120, n_queries=8, n_candidates=20)


@pytest.fixture(scope="module")
def scores(problem):
    return wf.influence(problem, {"step": STEP, "first": STEP.by("first_order"), "response": RESPONSE})


def test_every_public_name_is_there_and_documented():
    for name in set(wf.__all__) - {"__version__"}:
        assert getattr(wf, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wf.nothing  # noqa: B018
    assert set(wf.__all__) <= set(dir(wf))
    here = {name for name in vars(wf.names) if not name.startswith("_")} | {"__version__"}
    assert here == set(wf.__all__)


def test_a_specification_is_the_scoring_of_spec_json():
    expected = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "first_order")
    assert STEP.by("first_order").canonical() == expected.canonical()
    assert STEP.by("first_order").digest == expected.digest and STEP.question == Scoring.read(STEP.canonical()).question
    with pytest.raises(wf.InvalidInput, match="does not fit"):
        wf.Specification("query_loss", wf.Remove(), wf.OneStep(eta=0.1))
    with pytest.raises(wf.InvalidInput, match="not a specification"):
        wf.influence(wf.draw("digits", n_train=60, n_queries=2, n_candidates=2), ["query_loss"])


def test_scores_are_a_frame_and_a_top(scores):
    own = scores["step"]
    frame = own.to_frame()
    assert len(frame) == 8 * 20 and list(frame.columns) == ["query", "candidate", "score", "oriented", "converged"]
    wide = frame.pivot(index="query", columns="candidate", values="score")
    np.testing.assert_array_equal(wide[list(own.candidates)].to_numpy(), own.values)
    top = own.top(query=3, k=4)
    assert list(top.candidate) == list(own.candidates[np.argsort(-own.oriented[3], kind="stable")[:4]])
    assert own.top(3, 1, supporting=False).oriented.item() == own.oriented[3].min()
    with pytest.raises(wf.InvalidInput, match="choose one from 0 to 7"):
        own.top(query=8)
    assert "8 queries × 20 candidates" in repr(own) and "<table" in own._repr_html_()
    assert own.plot(query=1).to_dict()["mark"]["type"] == "bar"


def test_a_removal_is_read_by_what_it_supports(problem):
    removed = wf.influence(problem, wf.Specification("query_loss", wf.Remove(), wf.Reoptimize()))
    np.testing.assert_array_equal(removed.oriented, -removed.values)
    assert removed.top(0, 1).score.item() == removed.values[0].min()


def test_an_agreement_is_the_comparison(scores):
    agreement = wf.compare(scores)
    expected = compared([list(scores.values())], list(scores), problem=type(scores["step"].problem))
    pd.testing.assert_frame_equal(agreement.to_frame(), expected.table())
    assert agreement.tau("step", "response") == expected.agreement("kendall_tau", 0, 2).mean
    assert agreement.overlap("step", "response") == expected.agreement("top_overlap", 0, 2).mean
    assert agreement.signs("response", "step") == expected.agreement("sign_agreement", 0, 2).mean
    assert agreement.verdict("step", "response").differs == {"P", "T"}
    assert agreement.verdict("step", "first").differs == set()
    assert "Kendall tau" in str(agreement) and agreement.plot().to_dict()["layer"]
    with pytest.raises(wf.InvalidInput, match="No scores are named `nobody`"):
        agreement.tau("step", "nobody")
    with pytest.raises(wf.InvalidInput, match="nothing to compare"):
        wf.compare({"step": scores["step"]})


def test_an_explanation_is_a_sentence(problem, scores):
    expected = explained(problem, scores["step"], scores["response"])
    assert str(wf.explain(problem, STEP, RESPONSE)) == expected.sentence
    assert str(wf.explain(problem, scores["step"], RESPONSE)) == expected.sentence


@pytest.mark.parametrize("larger", ["supports", "opposes"])
def test_scores_of_another_program_stand_beside_ours(scores, larger):
    sign = 1 if larger == "supports" else -1
    theirs = wf.imported(torch.as_tensor(sign * scores["step"].values.copy()), claims=STEP, larger=larger)
    agreement = wf.compare({**scores, "theirs": theirs})
    assert agreement.tau("step", "theirs") == pytest.approx(1.0)
    assert agreement.verdict("step", "theirs").differs == set()
    with pytest.raises(wf.InvalidInput, match="supports"):
        wf.imported(np.zeros((8, 20)), claims=STEP, larger="up")
    with pytest.raises(wf.InvalidInput, match="one row per query"):
        wf.imported(np.zeros(8), claims=STEP)
    with pytest.raises(wf.InvalidInput):
        wf.compare({**scores, "theirs": wf.imported(np.zeros((7, 20)), claims=STEP)})


def test_lists_name_what_can_be_asked():
    assert {"query_loss", "response_loss"} <= set(wf.behaviors().name)
    assert {"exact", "first_order", "ekfac"} <= set(wf.estimators().name) and "digits" in set(wf.datasets().name)
