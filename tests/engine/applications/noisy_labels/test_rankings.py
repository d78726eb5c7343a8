"""What rankings of suspicious labels tell, by hand."""

import numpy as np
import pandas as pd

from engine.applications.noisy_labels import rankings
from engine.applications.noisy_labels.pairs import NONE, Pair
from engine.applications.noisy_labels.recommended import by_flags, by_publication

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
    table = pd.DataFrame([("TracIn", "Target logit", "AUPRC", 0.4, 0.1), ("RepSim", NONE, "AUPRC", 0.5, 0.2),
                          ("LiSSA", "Target logit", "AUPRC", 0.6, 0.1), ("TracIn", "Target logit", "AUROC", 0.9, 0.1)],
                         columns=["method", "behavior", "metric", "mean", "ci95"])
    found = by_publication(SUSPICION, table, "CIFAR-10", by_heart=True)
    assert found.pair == PLAIN and "0.50 ± 0.20" in found.why
    assert "Table 5-1 (CIFAR-10), of a deep network that has learned its labels by heart, as here" in found.why
    assert "of a network that is small or has not" in by_publication(SUSPICION, table, "", by_heart=False).why
    assert by_publication(SUSPICION, None, "", False) is None
    assert by_publication({FIRST: noisy}, table, "", True) is None
