"""The linear datamodeling score against SciPy and scikit-learn's own refits; what is linear scores 1."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn

import engine.experiments  # noqa: F401 - registers the job kinds
from engine.analysis import subset_bank
from engine.analysis.datamodels import linear_datamodeling_score, retrain, subsets
from engine.analysis.self_influence import self_influence
from engine.basics.errors import InvalidInput
from engine.models.recipe import Recipe
from engine.problems import ModuleProblem, ProblemSource
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.problems_for_tests import arrays, problem, sklearn_weights
from tests.engine.requests_for_tests import answered
from tests.engine.single_thread import one_thread  # noqa: F401

REMOVED = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})


def test_subsets_have_one_size_and_a_seed():
    kept = subsets(30, 8, 0.4, seed=3)
    assert kept.shape == (8, 30) and (kept.sum(1) == 12).all() and len({row.tobytes() for row in kept}) == 8
    np.testing.assert_array_equal(kept, subsets(30, 8, 0.4, seed=3))


@pytest.mark.parametrize(("arguments", "words"), [((10, 8, 0.01), "leaves 0"), ((10, 2, 0.5), "at least 3")])
def test_sizes_that_say_nothing_are_refused(arguments, words):
    with pytest.raises(InvalidInput, match=words):
        subsets(*arguments)


def test_the_score_is_spearmans_over_subsets():
    rng = np.random.default_rng(0)
    scores, kept, outcomes = rng.normal(size=(4, 12)), subsets(12, 20), rng.normal(size=(4, 20))
    expected = [spearmanr([row[mask].sum() for mask in kept], out).statistic
                for row, out in zip(scores, outcomes, strict=True)]
    np.testing.assert_allclose(linear_datamodeling_score(scores, outcomes, kept), expected, atol=1e-12)
    np.testing.assert_allclose(linear_datamodeling_score(scores, scores @ kept.T, kept), 1)
    with pytest.raises(InvalidInput, match="have mismatched shapes"):
        linear_datamodeling_score(scores, outcomes[:2], kept)


def test_subsets_are_really_trained_on():
    small = problem(n=40, candidates=range(5, 30), queries=4)
    kept = subsets(25, 4, 0.5)
    found = retrain(small, kept)
    for row, logits in zip(kept, found.logits, strict=True):
        rows = np.concatenate([np.arange(5), np.arange(5, 30)[row], np.arange(30, 40)])
        expected = small.queries @ sklearn_weights(small, small.x[rows], small.y[rows])
        np.testing.assert_allclose(logits, expected, atol=1e-6)
    assert found.outcomes("query_loss").shape == (4, 4)


def test_leave_one_out_predicts_subsets_better_than_noise():
    small = problem(n=60, queries=8, l2=0.1)
    kept = subsets(60, 30)
    outcomes = retrain(small, kept).outcomes("query_loss")
    exact = linear_datamodeling_score(compute(small, REMOVED)[0], outcomes, kept).mean()
    noise = linear_datamodeling_score(np.random.default_rng(0).normal(size=(8, 60)), outcomes, kept).mean()
    assert exact > 0.6 and abs(noise) < 0.3


def network():
    x, y, x_query, y_query = arrays(n=24, d=4)
    torch.manual_seed(0)
    build = lambda: nn.Linear(4, 3)  # noqa: E731
    recipe = Recipe(epochs=2, batch_size=8, learning_rate=0.1)
    return ModuleProblem(build(), x, y, x_query, y_query, range(10), recipe=recipe, build=build)


def test_a_network_is_trained_from_scratch_on_each_subset():
    small = network()
    found = retrain(small, subsets(10, 3))
    again = retrain(small, subsets(10, 3))
    assert found.logits.shape == (3, 7, 3) and torch.equal(found.logits, again.logits)
    assert not torch.equal(found.logits[0], found.logits[1])
    small.recipe = None
    with pytest.raises(InvalidInput, match="unknown how this model was trained"):
        retrain(small, subsets(10, 3))


@pytest.mark.parametrize("scoring", [REMOVED, Scoring.of("query_loss", {"kind": "add_occurrence"},
                                                         {"kind": "one_step", "eta": 0.1}, "first_order")])
def test_self_influence_is_the_score_at_oneself(scoring, monkeypatch):
    monkeypatch.setattr("engine.analysis.self_influence.BLOCK", 7)
    rows = np.array([3, 0, 9, 12, 5, 20, 21, 22, 23, 1])
    small = problem(n=30, candidates=rows)
    found = self_influence(small, scoring)
    x, y = small.x.numpy(), small.y.numpy()
    for place, row in enumerate(rows):
        own = type(small)(x, y, x[row:row + 1], y[row:row + 1], [row], l2=1e-2, classes=3)
        assert found[place] == pytest.approx(compute(own, scoring)[0].oriented[0, 0], rel=1e-6)
    assert (found > 0).all() or scoring.estimator == "exact"


def test_self_influence_of_a_network():
    small = network()
    step = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, "first_order")
    own = ModuleProblem(small.network.module, small.x, small.y, small.x[:10], small.y[:10], range(10))
    np.testing.assert_allclose(self_influence(small, step), np.diagonal(compute(own, step)[0].oriented), rtol=1e-5)


def test_the_job_trains_the_same_models_in_slices(tmp_path, monkeypatch):
    monkeypatch.setattr(subset_bank, "TOGETHER", 2)
    source = ProblemSource(dataset="digits", n_train=60, n_test=12, n_queries=5, n_candidates=10, pool=2, l2=1e-2)
    request = subset_bank.SubsetModelsRequest(candidates=8, subsets=5)
    assert request.chunks == ["0", "1", "2"]
    whole = source.build().problem
    expected = retrain(whole.with_candidates(whole.candidates[:8]), subsets(8, 5))
    found = answered(request, source, tmp_path)
    np.testing.assert_array_equal(found.members, expected.members)
    np.testing.assert_allclose(found.logits, expected.logits, atol=1e-9)
    np.testing.assert_allclose(found.outcomes("hard_margin"), expected.outcomes("hard_margin"), atol=1e-9)
    with pytest.raises(InvalidInput, match="leaves 0"):
        _ = request.model_copy(update={"share": 0.01}).chunks
