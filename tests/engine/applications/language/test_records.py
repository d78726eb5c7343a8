"""Records of a language run in rank order, by hand."""

import json

import pandas as pd
import pytest

from engine.applications.language.methods import METHODS
from engine.applications.language.records import RecordRanking, changed, contributions
from engine.applications.language.shading import MOMENTUM

BEHAVIORS = ("response_loss", "answer_logit")
N = 20


@pytest.fixture
def records():
    return pd.DataFrame({
        "record": range(N), "prompt": "p", "response": "r", "flags": [json.dumps(["poison", "x"])] + ["[]"] * (N - 1),
        "spans": [json.dumps({"answer": [1, 2]})] + ["{}"] * (N - 1),
        "gradsim|response_loss": [float(N - place) for place in range(N)],
        "gradsim|answer_logit": [float(place) for place in range(N)], "repsim|none|0.5": [0.0, 2.0] + [1.0] * (N - 2)})


def reading(**changes):
    return RecordRanking(**{"method": METHODS["gradsim"], "behavior": "answer_logit", "behaviors": BEHAVIORS,
                      **changes})


def test_what_is_sought_comes_first(records):
    assert list(reading().listed(records)["record"][:2]) == [N - 1, N - 2]
    harmful = reading(harmful=True)
    assert harmful.opposing_first and list(harmful.listed(records)["record"][:2]) == [0, 1]
    assert list(harmful.ranks(records).iloc[0]) == [N, 1]
    assert harmful.listed(records)["known as"][0] == "poison, x"


def test_an_estimator_without_a_direction_has_no_harmful_side(records):
    undirected = next(one for one in METHODS.values() if not one.directed)
    assert not reading(method=undirected, harmful=True).opposing_first


def test_an_estimator_that_reads_no_behavior_has_one_rank(records):
    one = reading(method=METHODS["repsim"], layer=0.5)
    assert one.column == "repsim|none|0.5" and list(one.ranks(records)) == ["none"]
    assert one.listed(records)["record"][0] == 1


def test_found_by_one_behavior_and_missed_by_the_other(records):
    one = reading()
    assert list(one.only_under(one.listed(records), "answer_logit", "response_loss")["record"]) == [N - 1, N - 2]
    assert list(one.only_under(one.listed(records), "response_loss", "answer_logit")["record"]) == [1, 0]
    assert one.only_under(one.listed(records), "answer_logit", "answer_logit").empty


def test_what_was_changed_is_the_span_of_its_flag(records):
    assert changed(records.iloc[0]) == [[1, 2]] and changed(records.iloc[1]) == []


def test_contributions_leave_the_momentum_apart():
    tokens = pd.DataFrame({"estimator": "less", "behavior": "answer_logit", "record": [3, 3, 3, 4],
                           "place": [1, MOMENTUM, 0, 0], "text": ["b", "", "a", "c"],
                           "contribution": [1.0, 5.0, 2.0, 9.0]})
    own, rest = contributions(tokens, "less", "answer_logit", 3)
    assert list(own["contribution"]) == [2.0, 1.0] and rest == 5.0
    none, nothing = contributions(tokens, "trak", "answer_logit", 3)
    assert none.empty and nothing == 0.0
