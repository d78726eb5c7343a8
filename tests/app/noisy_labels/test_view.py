"""What the Noisy labels page lists, by hand."""

import numpy as np
import pandas as pd

from app.noisy_labels import view as noisy_view
from engine.applications.noisy_labels.pairs import NONE, Pair

FIRST, SECOND, PLAIN = Pair("TracIn", "Trusted loss"), Pair("TracIn", "Target logit"), Pair("RepSim")
SUSPICION = {FIRST: np.array([5.0, 4, 3, 2, 1, 0, -1, -2, -3, -4]),
             SECOND: np.array([5.0, 0, 4, 3, 2, 1, -1, -2, -3, -4]), PLAIN: -np.arange(10.0)[::-1]}


def test_flagged_by_one_and_not_by_another():
    assert list(noisy_view.flagged(SUSPICION, FIRST, 0.2)) == [0, 1]
    assert list(noisy_view.flagged(SUSPICION, FIRST, 0.2, SECOND)) == [1]
    assert list(noisy_view.flagged(SUSPICION, FIRST, 0.2, FIRST)) == []


def test_the_preferred_behavior_of_every_method_that_has_several():
    table = noisy_view.detections(SUSPICION, np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 0], dtype=bool))
    assert noisy_view.preferred(table, "AUPRC") == {SECOND}
    lost = pd.DataFrame({"method": ["TracIn"], "behavior": ["Trusted loss"], "AUPRC": [np.nan]})
    assert noisy_view.preferred(lost.assign(behavior=NONE), "AUPRC") == set()


def test_related_rankings_start_with_the_chosen_one():
    assert noisy_view.related(SECOND, list(SUSPICION)) == [SECOND, FIRST, PLAIN]


def test_what_the_right_label_may_be():
    assert noisy_view.guess(1, 2, [1, 1, 1]) == 2
    assert noisy_view.guess(1, 1, [1, 4, 3]) == 4
    assert noisy_view.guess(1, 1, [1, 1, 1]) is None


def test_agreement_and_its_cells():
    tau = noisy_view.agreement(SUSPICION)
    assert tau[0, 0] == 1 and tau[0, 1] == tau[1, 0] and tau[0, 2] == -1
    cells = noisy_view.cells(SUSPICION, tau, (1, 1))
    assert len(cells) == 9 and list(cells[cells["chosen"]]["first"]) == ["2. TracIn · target logit"]
    assert set(cells["verdict"]) == {"the same ranking", "the behavior differs", "method and behavior differ"}


def test_ranks_count_from_the_most_suspicious():
    assert noisy_view.all_ranks(SUSPICION)[PLAIN][-1] == 1 and noisy_view.all_ranks(SUSPICION)[FIRST][0] == 1
