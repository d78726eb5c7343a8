"""Compare judges an approximation by what was measured, says of a residual what it is, and gives no word too many."""

import pytest

from app.widgets.jobs.desk import desk
from app.widgets.pickers import specification_list
from engine.analysis.spot_check import CANDIDATES
from engine.desk import compared as desk_compared
from engine.desk.spot_check import spot_checked
from engine.metrics.in_words import in_words
from engine.problems import ProblemSource
from engine.scoring.scoring import Scoring
from tests.pages.support import open, says, sound

SMALL = {"data": "digits", "train": 80, "queries": 20, "candidates": 8, "nseeds": 1, "explain": 0}
SOURCE = ProblemSource(n_train=80, n_queries=20, n_test=500)
LOCAL = {"kind": "infinitesimal"}, {"kind": "local_response"}
LISSA, KFAC, EXACT = (Scoring.of("query_loss", *LOCAL, name) for name in ("lissa", "kfac", "exact"))


def opened(*scorings, **more):
    return sound(open("compare", **{**SMALL, **specification_list.address_of(list(scorings), (0, 1)), **more}))


def engine_s(*scorings):
    return desk_compared.compared(desk(), [SOURCE], scorings, 8)


def test_two_approximations_are_each_measured_against_the_exact_answer():
    at = opened(LISSA, KFAC)
    found = engine_s(LISSA, KFAC)
    for place in (0, 1):
        checked = spot_checked(desk(), found, place)
        assert says(at, checked.sentence) and says(at, checked.basis) and says(at, checked.reference_said)
        assert f"{CANDIDATES} of 80 candidates and 20 of 20 queries" in checked.basis
    assert says(at, "not measure its ranking") and not says(at, "worse than")


def test_an_exact_answer_in_the_list_is_the_reference():
    at = opened(KFAC, EXACT)
    assert says(at, "All 80 candidates and 20 queries of the comparison") and not says(at, "Spot check:")


def test_what_costs_too_much_is_measured_where_it_is_asked_for(monkeypatch):
    monkeypatch.setattr("app.compare.spot_check.AFFORDABLE", -1.0)
    monkeypatch.setattr("engine.desk.spot_check.QUICK", -1.0)
    at = opened(LISSA, KFAC, train=81)  # so that no other test has computed it
    assert says(at, "LiSSA) against the exact answer to its question: not measured; the exact answer for")
    [button] = [button for button in at.button if button.key == f"spot:{LISSA.digest}"]
    monkeypatch.setattr("engine.desk.spot_check.QUICK", 60.0)
    assert says(sound(button.click().run()), "Spot check:")


@pytest.mark.parametrize("pair", [(LISSA, KFAC)])
def test_the_pair_is_told_in_words_only_where_its_numbers_allow_one(pair):
    at, comparison = opened(*pair), engine_s(*pair).comparison
    told = in_words(comparison.agreement("kendall_tau", 0, 1), comparison.agreement("top_overlap", 0, 1), 80)
    assert says(at, told.sentence) and says(at, "chance 5%")
    assert not says(at, "nrelated")
