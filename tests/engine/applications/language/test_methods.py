"""Methods of attribution are named methods: their specifications, questions and formulas are derived."""

import pytest

from engine.applications.language.methods import METHODS, READOUT, pairs
from engine.models.causal.readouts import READOUTS
from engine.scoring.verdict import verdict

IMPLYING = [name for name, method in METHODS.items() if method.named.implies]


@pytest.mark.parametrize("name", IMPLYING)
def test_a_method_asks_what_its_named_method_implies(name):
    method = METHODS[name]
    for behavior in READOUTS if method.reads else ("none",):
        scoring = method.scoring(behavior)
        assert scoring == method.named.implied(scoring.behavior) and method.asks(behavior).endswith("?")
        assert READOUTS[behavior].clause in method.asks(behavior) if method.reads else READOUT in method.asks()


def test_updates_of_length_one_are_part_of_the_question():
    assert "in Adam's updates instead of plain steps, its update scaled to unit norm" in METHODS["less"].asks(
        "answer_logit")
    assert "scaled to unit norm" in METHODS["repsim"].asks()


def test_verdicts_between_methods_are_derived():
    of = {name: METHODS[name].scoring("answer_logit") for name in IMPLYING}
    assert verdict(of["gradsim"], METHODS["gradsim"].scoring("answer_logit")).kind == "same scores"
    assert verdict(of["gradsim"], of["tracin"]).axes == ("T",) and verdict(of["gradsim"], of["trak"]).axes == ("P", "T")
    assert verdict(of["tracin"], METHODS["tracin"].scoring("response_loss")).axes == ("B",)


def test_baselines_imply_no_specification_and_say_what_they_do():
    for name in set(METHODS) - set(IMPLYING):
        assert METHODS[name].scoring("answer_logit") is None
        assert METHODS[name].asks("answer_logit") == METHODS[name].named.asks
    assert {name for name in METHODS if name not in IMPLYING} == {"gradient_norm", "random"}
    assert len(list(pairs(tuple(READOUTS)))) == 3 + 4 * 5
