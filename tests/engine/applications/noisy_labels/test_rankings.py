"""What rankings of suspicious labels tell, by hand."""

import numpy as np
import pandas as pd

from engine.applications.noisy_labels import rankings
from engine.applications.noisy_labels.pairs import NONE, Pair
from engine.applications.noisy_labels.recommended import by_flags, by_trial
from engine.applications.noisy_labels.trial import Trial

FIRST, SECOND, PLAIN = Pair("TracIn", "Trusted loss"), Pair("TracIn", "Target logit"), Pair("RepSim")
SUSPICION = {FIRST: np.array([5.0, 4, 3, 2, 1, 0, -1, -2, -3, -4]),
             SECOND: np.array([5.0, 0, 4, 3, 2, 1, -1, -2, -3, -4]), PLAIN: -np.arange(10.0)[::-1]}


def test_flagged_by_one_and_not_by_another():
    assert list(rankings.flagged(SUSPICION, FIRST, 0.2)) == [0, 1]
    assert list(rankings.flagged(SUSPICION, FIRST, 0.2, SECOND)) == [1]
    assert list(rankings.flagged(SUSPICION, FIRST, 0.2, FIRST)) == []


def test_the_preferred_behavior_of_every_method_that_has_several():
    table = rankings.detections(SUSPICION, np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 0], dtype=bool))
    assert rankings.preferred(table, "AUPRC") == {SECOND}
    lost = pd.DataFrame({"method": ["TracIn"], "behavior": ["Trusted loss"], "AUPRC": [np.nan]})
    assert rankings.preferred(lost.assign(behavior=NONE), "AUPRC") == set()


def test_what_the_right_label_may_be():
    assert rankings.guess(1, 2, [1, 1, 1]) == 2
    assert rankings.guess(1, 1, [1, 4, 3]) == 4
    assert rankings.guess(1, 1, [1, 1, 1]) is None


def test_agreement_is_symmetric_and_one_with_itself():
    tau = rankings.agreement(SUSPICION)
    assert tau[0, 0] == 1 and tau[0, 1] == tau[1, 0] and tau[0, 2] == -1


def test_two_rankings_in_other_measures():
    found = rankings.agreements(SUSPICION, FIRST, SECOND, ["kendall_tau", "top_overlap", "sign_agreement"])
    tau = rankings.agreement(SUSPICION)
    assert found == {"kendall_tau": tau[0, 1], "top_overlap": 1.0, "sign_agreement": 0.8}


def test_ranks_count_from_the_most_suspicious():
    assert rankings.all_ranks(SUSPICION)[PLAIN][-1] == 1 and rankings.all_ranks(SUSPICION)[FIRST][0] == 1


def test_the_recommended_method_is_the_one_that_finds_most():
    noisy = np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 0], dtype=bool)
    assert by_flags(SUSPICION, noisy).pair == SECOND and "AUPRC 1.00" in by_flags(SUSPICION, noisy).why
    table = pd.DataFrame([("Random", NONE, 0.7), (*PLAIN, 0.5), (*FIRST, 0.2)], columns=["method", "behavior", "AUPRC"])
    found = by_trial(SUSPICION, Trial(table, 60, 1_000))
    assert found.pair == PLAIN and "of 60 labels" in found.why and "about 0.06" in found.why
    assert "is rough" in Trial(table, 6, 100).why and by_trial({SECOND: noisy}, Trial(table, 6, 100)) is None
