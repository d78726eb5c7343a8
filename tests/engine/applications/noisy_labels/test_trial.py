"""Labels planted in the data at hand, and what a trial makes of the methods."""

import numpy as np
import pytest

from engine.applications.noisy_labels import planted
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
    made = planted.plant(LABELS, PREDICTED, 5, seed=1)
    assert made.flipped.sum() == 30 and not made.flipped[PREDICTED != LABELS].any()
    np.testing.assert_array_equal(made.labels != LABELS, made.flipped)
    assert made.labels.max() < 4  # a class that no label has stays empty
    counts = [((b == LABELS) & (PREDICTED == 0)).sum() for b in range(4)]  # with which labels a predicted 0 comes
    zeros = np.concatenate([planted.plant(LABELS, PREDICTED, 5, seed).labels[(LABELS == 0) & planted.plant(
        LABELS, PREDICTED, 5, seed).flipped] for seed in range(40)])
    expected = np.array([0, *(1 + np.array(counts[1:]))]) / (3 + sum(counts[1:]))
    np.testing.assert_allclose(np.bincount(zeros, minlength=4) / len(zeros), expected, atol=0.08)


def test_too_few_labels_are_a_sentence():
    with pytest.raises(InvalidInput, match="fewer than 5, so methods"):
        planted.plant(LABELS[:60], PREDICTED[:60], 4, seed=0)


def test_what_was_wrong_before_does_not_count_and_the_consensus_is_a_weighted_rank():
    made = planted.plant(LABELS, PREDICTED, 4, seed=1)
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
