"""What rankings of suspicious labels tell, by hand."""

import numpy as np
import pandas as pd

from engine.applications.noisy_labels import rankings
from engine.applications.noisy_labels.pairs import NONE, Pair

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
