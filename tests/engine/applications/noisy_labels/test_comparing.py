"""Why two rankings of labels differ is derived from what their methods imply."""

from itertools import combinations

from engine.applications.noisy_labels.comparing import scoring_of, why
from engine.applications.noisy_labels.pairs import Pair, augmented, pairs_of
from engine.scoring.verdict import BOTH, NO_SPECIFICATION, SAME, verdict

GRADSIM, TRACIN = Pair("GradSim", "Trusted loss"), Pair("TracIn", "Trusted loss")


def test_the_axes_are_those_of_the_two_scorings():
    for first, second in combinations(pairs_of(), 2):
        a, b = scoring_of(first), scoring_of(second)
        if a and b:
            assert why(first, second).axes == verdict(a, b).axes and "same ranking" not in why(first, second).headline


def test_methods_of_two_processes():
    found = why(GRADSIM, TRACIN)
    assert found.kind == BOTH and found.axes == ("T",)
    assert found.headline.startswith("Both: the training process differs")
    assert "training process:" in found.reason and "First order approximates the answer." in found.reason
    assert "η" not in found.reason and "5×20" not in found.reason and "put together" not in found.reason


def test_another_aggregate_is_said():
    found = why(Pair("RepSim"), TRACIN)
    assert found.axes == ("B", "P", "T")
    assert ("aggregation over trusted examples also differs: the trusted examples of its own class for RepSim, "
            "the mean over all trusted examples for TracIn.") in found.reason
    assert "aggregation" not in why(Pair("RepSim"), Pair("NTK")).reason


def test_what_implies_no_specification_is_not_compared():
    one = why(TRACIN, Pair("Confident learning"))
    assert one.kind == NO_SPECIFICATION and one.axes == ()
    assert one.headline == "No question to compare: Confident learning implies no specification"
    assert "neither approximation error nor specification mismatch" in one.reason and "cleanlab" in one.reason
    both = why(Pair("Random"), Pair("Confident learning"))
    assert both.headline.endswith("Random and Confident learning imply no specification")
    assert why(Pair(augmented("train", "logit")), TRACIN).kind == NO_SPECIFICATION


def test_a_ranking_beside_itself():
    assert why(TRACIN, TRACIN).kind == SAME and why(TRACIN, TRACIN).headline == "The same ranking"
