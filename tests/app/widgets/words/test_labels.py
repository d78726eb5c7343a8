"""Short names of specifications exist for every behavior, one without a gradient too."""

from app.widgets.words import labels
from engine.question.behaviors import reading
from engine.scoring.scoring import Scoring

STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}


def test_a_behavior_that_no_gradient_method_scores_has_short_names_too():
    scorings = [Scoring.of("correct", *STEP), Scoring.of("correct", {"kind": "remove"}, {"kind": "reoptimize"})]
    assert labels.short(scorings) == ["one step η=0.1", "re-optimise"]


def test_every_behavior_has_a_name_of_its_own_beside_the_others():
    names = labels.short([Scoring.of(name, *STEP) for name in reading("classes")])
    assert len(set(names)) == len(names) and "correct" in names
