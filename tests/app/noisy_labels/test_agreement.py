"""What stands beside what on the Noisy labels page."""

import numpy as np

from app.noisy_labels import agreement, detection
from engine.applications.noisy_labels import rankings
from engine.applications.noisy_labels.pairs import Pair

FIRST, SECOND, PLAIN = Pair("TracIn", "Trusted loss"), Pair("TracIn", "Target logit"), Pair("RepSim")
SUSPICION = {FIRST: np.array([5.0, 4, 3, 2, 1, 0, -1, -2, -3, -4]),
             SECOND: np.array([5.0, 0, 4, 3, 2, 1, -1, -2, -3, -4]), PLAIN: -np.arange(10.0)[::-1]}


def test_related_rankings_start_with_the_chosen_one():
    assert detection.related(SECOND, list(SUSPICION)) == [SECOND, FIRST, PLAIN]


def test_the_cells_of_the_heatmap():
    cells = agreement.cells(SUSPICION, rankings.agreement(SUSPICION), (0, 2))
    assert len(cells) == 9
    outlined = cells[cells["chosen"]]
    assert list(zip(outlined["row"], outlined["column"], strict=True)) == [(0, 2), (2, 0)]
    said = cells.set_index(["row", "column"])["verdict"]
    assert said[0, 0] == "The same ranking" and said[0, 1].startswith("Both: the behavior differs")
    assert said[0, 2].startswith("Both: the behavior, intervention and training process differ")


def test_the_pair_that_is_opened_first():
    random = Pair("Random")
    known = [*SUSPICION, random]
    tau = np.array([[1.0, 0.6, -0.2, -0.9], [0.6, 1.0, 0.1, 0.0], [-0.2, 0.1, 1.0, 0.0], [-0.9, 0.0, 0.0, 1.0]])
    assert agreement.first_opened(known, tau, FIRST) == (0, 2)
    assert agreement.first_opened(known, tau, random) == (3, 0)
    assert agreement.first_opened([FIRST, random], tau[[0, 3]][:, [0, 3]], FIRST) == (0, 1)
