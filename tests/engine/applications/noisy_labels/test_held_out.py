"""What is said of examples by models that have not seen them, and accuracy before and after on corrected labels."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from engine.applications.noisy_labels.cross_validation import CrossValidationRequest, summary
from engine.applications.noisy_labels.folds import fold_of
from engine.applications.noisy_labels.held_out import HeldOutRequest
from engine.applications.noisy_labels.pairs import Pair
from engine.applications.noisy_labels.retraining import RetrainingRequest
from engine.applications.noisy_labels.search import SuspicionRequest
from engine.applications.noisy_labels.trial import TrialRequest
from engine.jobs import run_job
from engine.models.training import train
from tests.engine.applications.noisy_labels.sources import drawn, source

MLP = source(model="mlp")


def without(data, y, held, removed=()):
    """The model trained without `held` and `removed`, as predictions on `held`."""
    rows = np.setdiff1d(np.arange(len(y)), [*np.flatnonzero(held), *removed])
    weights = torch.zeros(len(y))
    weights[rows] = 1
    recipe = data.source.recipe.model_copy(update={"checkpoints": 0})
    module = train(data.build, torch.tensor(data.evidence.x), torch.tensor(y), recipe, 0, weights=weights).module
    with torch.no_grad():
        return module(torch.tensor(data.evidence.x[held])).softmax(-1).numpy()


def test_each_example_is_judged_by_the_model_that_has_not_seen_it(tmp_path):
    request, data = HeldOutRequest(source=MLP), drawn(model="mlp")
    answer = request.loaded(run_job(request.name, request.payload, tmp_path))
    y, folds = data.evidence.y, fold_of(data.evidence.y, 3, MLP.seed)
    expected = np.empty((150, 10))
    for fold in range(3):
        expected[folds == fold] = without(data, y, folds == fold)
    np.testing.assert_allclose(answer.probabilities, expected, atol=1e-5)
    assert answer.agreement == (expected.argmax(1) == y).mean() and answer.low <= answer.count.value <= answer.high
    first = answer.suspects(20)
    assert len(set(first)) == 20 and answer.own[first[-1]] <= np.delete(answer.own, first).min()
    assert HeldOutRequest.of_payload(request.payload) == request


def test_the_first_of_them_reads_the_pictures():
    """400 pictures and 5 folds took 12.0 processor seconds on a crowded machine."""
    request = HeldOutRequest(source=source(model="pretrained", n_train=400, folds=5, trusted_from="cross-validation"))
    assert 0.5 < 12.0 / request.seconds < 2 and request.weight("fold 1") > 10 * request.weight("fold 2") == 10
    assert HeldOutRequest(source=MLP).weight("fold 1") == 1


@pytest.mark.parametrize("changes", [{}, {"trusted_from": "cross-validation", "folds": 2}])
def test_a_search_and_a_trial_read_the_same_held_out_models(tmp_path, monkeypatch, changes):
    chosen = source(model="linear", n_train=120, noise=0.0, **changes)
    request, methods = HeldOutRequest(source=chosen), ("self_confidence", "refitted")
    held = request.loaded(run_job(request.name, request.payload, tmp_path))
    monkeypatch.setattr(HeldOutRequest, "run_chunk", None)  # nothing is computed again
    search = SuspicionRequest(source=chosen, methods=methods)
    scored = search.loaded(run_job(search.name, search.payload, tmp_path))
    np.testing.assert_allclose(scored.suspicion[Pair("Self-confidence")], -held.own, rtol=1e-5)
    tried = TrialRequest(source=chosen, methods=methods)
    assert TrialRequest.loaded(run_job(tried.name, tried.payload, tmp_path)).eligible >= round(held.agreement * 120)


def test_accuracy_before_and_after_is_out_of_fold_and_on_the_corrected_labels(tmp_path):
    data = drawn(model="mlp")
    wrong = {int(row): int(data.flags.labels[row]) for row in np.flatnonzero(data.flags.noisy)}
    removed = list(wrong)[:3]
    relabelled = {row: label for row, label in wrong.items() if row not in removed}
    training = RetrainingRequest(source=MLP, removed=tuple(removed), relabelled=relabelled)
    asked = CrossValidationRequest(training=training, folds=2)
    assert CrossValidationRequest.of_payload(asked.payload) == asked
    table = asked.loaded(run_job(asked.name, asked.payload, tmp_path)).accuracy.set_index("what")
    y, right = data.evidence.y.copy(), {"before": [], "after": []}
    y[list(relabelled)] = list(relabelled.values())
    folds = fold_of(y, 2, 0)
    for fold in range(2):
        held = folds == fold
        counts = ~np.isin(np.flatnonzero(held), removed)
        right["before"] += [*(without(data, data.evidence.y, held).argmax(1) == y[held])[counts]]
        right["after"] += [*(without(data, y, held, removed).argmax(1) == y[held])[counts]]
    before, after = (np.array(values, dtype=float) for values in right.values())
    assert table.loc["change", "n_examples"] == 147
    for what, values in (("before", before), ("after", after), ("change", after - before)):
        assert table.loc[what, "mean"] == pytest.approx(values.mean())
        assert table.loc[what, "ci95"] == pytest.approx(norm.ppf(0.975) * values.std(ddof=1) / np.sqrt(147), rel=1e-3)


def test_the_interval_holds_the_mean_as_often_as_it_says():
    rng, held = np.random.default_rng(0), 0
    for _ in range(400):
        one = summary(rng.choice([-1.0, 0, 1], 300, p=[0.05, 0.8, 0.15]))
        held += abs(one["mean"] - 0.1) <= one["ci95"]
    assert 0.92 <= held / 400 <= 0.98


def test_a_rare_class_is_parted_with_the_largest():
    y = np.array([0] * 10 + [1] * 2 + [2])
    assert (np.bincount(fold_of(y, 5, 0)) >= 2).all() and fold_of(y, 2, 0)[y == 1].sum() == 1
