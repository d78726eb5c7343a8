"""Two stages: the dear ranking of a shortlist, and the recall of the first stage against counting all."""

import numpy as np
import pytest

from engine.analysis.two_stage import TwoStageRequest, recall
from engine.basics.errors import InvalidInput
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.problems_for_tests import problem

STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.5})


def counted(dear, listed, top):
    """Of all candidates at least as good as the shortlist's `top`-th, the fraction on it, one by one."""
    values = []
    for scores, shortlist in zip(dear, listed, strict=True):
        border = sorted(scores[shortlist], reverse=True)[top - 1]
        good = [k for k in range(len(scores)) if scores[k] >= border]
        values.append(sum(k in set(shortlist) for k in good) / len(good))
    return values


def test_with_the_whole_complement_the_recall_is_that_of_counting():
    whole = problem(n=40, queries=4, candidates=range(3, 33))
    answer = TwoStageRequest(scoring=STEP, first="nearest", shortlist=6, top=3, complement=1000).run(whole)
    dear = compute(whole, STEP)[0].oriented
    near = -((whole.queries[:, None] - whole.x[whole.candidates][None]) ** 2).sum(2).numpy()
    listed = np.argsort(-near, axis=1)[:, :6]
    np.testing.assert_allclose(answer.recall["recall"], counted(dear, listed, 3))
    assert (answer.recall["low"] == answer.recall["high"]).all()
    for query, own in answer.ranking.groupby("query"):
        best = sorted(listed[query], key=lambda k: -dear[query, k])
        assert own["candidate"].tolist() == whole.candidates[best].tolist()
        np.testing.assert_allclose(own["score"], dear[query, best])
        assert own["first"].tolist() == [listed[query].tolist().index(k) + 1 for k in best]


def test_the_number_missed_is_unbiased_and_the_interval_holds_the_truth():
    rng, listed = np.random.default_rng(0), np.arange(10)[None]
    dear, rest = rng.normal(size=(1, 400)), np.arange(10, 400)
    truth = counted(dear, listed, 4)[0]
    missed, held = [], []
    for _ in range(400):
        drawn = rng.choice(rest, 40, replace=False)
        row = recall(dear, listed, listed[0], drawn, 390, 4).iloc[0]
        missed.append(row["missed"])
        held.append(row["low"] <= truth <= row["high"])
    expected = 4 / truth - 4
    assert np.mean(missed) == pytest.approx(expected, abs=4 * np.std(missed) / 20)
    assert np.mean(held) >= 0.95


def test_what_does_not_fit_is_refused():
    small = problem(n=12, queries=2, candidates=range(8))
    for fields, words in (({"shortlist": 9}, "does not fit"), ({"shortlist": 2, "top": 3}, "does not fit"),
                          ({"first": "bm25", "shortlist": 4, "top": 2}, "not defined for softmax")):
        with pytest.raises(InvalidInput, match=words):
            TwoStageRequest(scoring=STEP, **fields).run(small)
