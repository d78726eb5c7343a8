"""Labels planted in the data at hand, and what a trial makes of the methods."""

import numpy as np
import pytest

from engine.applications.noisy_labels import planted
from engine.applications.noisy_labels.feature_readings import FeatureReadings
from engine.applications.noisy_labels.pairs import CONSENSUS, Pair
from engine.applications.noisy_labels.trial import TrialRequest
from engine.basics.errors import InvalidInput
from engine.jobs import run_job
from engine.metrics.ranking import ranks
from tests.engine.applications.noisy_labels.sources import source

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 4, 600)
PREDICTED = np.where(RNG.random(600) < 0.3, (LABELS == 0).astype(int), LABELS)


def test_labels_that_look_right_become_what_they_are_confused_with():
    made = planted.plant(LABELS, PREDICTED[None], 5, seed=1)
    assert made.flipped.sum() == 30 and not made.flipped[PREDICTED != LABELS].any()
    np.testing.assert_array_equal(made.labels != LABELS, made.flipped)
    counts = [((b == LABELS) & (PREDICTED == 0)).sum() for b in range(4)]  # with which labels a predicted 0 comes
    confused = np.array([0, *(1 + np.array(counts[1:])), 0]) / (3 + sum(counts[1:]))  # no label is of the last class
    draws = [planted.plant(LABELS, PREDICTED[None], 5, seed) for seed in range(40)]
    zeros = np.concatenate([one.labels[(LABELS == 0) & one.flipped] for one in draws])
    expected = (confused + np.array([0, 1, 1, 1, 0]) / 3) / 2
    np.testing.assert_allclose(np.bincount(zeros, minlength=5) / len(zeros), expected, atol=0.08)


def test_one_of_two_models_that_agrees_with_a_label_suffices():
    other = np.where(PREDICTED == LABELS, (LABELS + 1) % 4, LABELS)
    other[:50] = 4  # of these the first alone predicts some
    made = planted.plant(LABELS, np.stack([PREDICTED, other]), 5, seed=1)
    np.testing.assert_array_equal(made.eligible, (np.arange(600) >= 50) | (PREDICTED == LABELS))


def test_labels_that_the_judge_misses_and_a_kernel_predicts_can_be_flipped():
    """Two classes in opposite quadrants, which no line parts."""
    rng = np.random.default_rng(0)
    corners = rng.choice([-1, 1], (400, 2))
    y = (corners.prod(1) > 0).astype(int)
    line, kernel = planted.opinions(FeatureReadings(corners + 0.2 * rng.normal(size=(400, 2)), y, 2))
    assert (line == y).mean() < 0.7 < 0.95 < (kernel == y).mean()
    assert planted.plant(y, np.stack([line, kernel]), 2, seed=0).eligible.mean() > 0.95


def test_too_few_labels_are_a_sentence():
    with pytest.raises(InvalidInput, match="fewer than 5, so methods"):
        planted.plant(LABELS[:60], PREDICTED[None, :60], 4, seed=0)


def test_what_was_wrong_before_does_not_count_and_the_consensus_is_a_weighted_rank():
    made = planted.plant(LABELS, PREDICTED[None], 4, seed=1)
    before = (~made.eligible) * 10.0
    good, weak = Pair("Good"), Pair("Weak", "Trusted loss")
    suspicion = {Pair("Random"): RNG.random(600) * 0, good: before + made.flipped,
                 weak: made.flipped + RNG.normal(size=600), Pair("Weak", "Hard margin"): -before - made.flipped}
    table = planted.measured(suspicion, made)
    assert tuple(table.loc[0, ["method", "behavior"]]) == good and table.loc[0, "AUPRC"] == 1
    weight = {Pair(row.method, row.behavior): row.weight for row in table.itertuples()}
    assert weight[Pair("Weak", "Hard margin")] == 0 < weight[weak] < weight[good]
    found = planted.consensus({**suspicion, CONSENSUS: before}, table)
    by_hand = [(pair, one) for pair, one in weight.items() if one]
    expected = -sum(one * ranks(suspicion[pair]) for pair, one in by_hand) / sum(one for _, one in by_hand)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("changes", [{}, {"trusted_from": "cross-validation", "folds": 3}])
def test_a_trial_finds_the_method_that_finds_flipped_labels(tmp_path, changes):
    chosen = source(model="linear", n_train=120, noise=0.0, **changes)
    methods = ("random", "gradsim", "self_confidence", "refitted")
    asked = TrialRequest(source=chosen, methods=methods)
    tried = TrialRequest.loaded(run_job(asked.name, asked.payload, tmp_path))
    assert tried.planted == 6 <= tried.eligible <= 120
    assert set(tried.table["method"]) == {"Random", "GradSim", "Self-confidence", "Reweighted refit"}
    assert tried.best.method != "Random" and tried.table["AUPRC"].is_monotonic_decreasing
    weighted = tried.with_consensus({Pair("Self-confidence"): np.arange(4.0), CONSENSUS: np.zeros(4)})
    np.testing.assert_array_equal(ranks(weighted[CONSENSUS]), [4, 3, 2, 1])
