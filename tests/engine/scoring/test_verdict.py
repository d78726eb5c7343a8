"""The verdict over every kind of pair: symmetric, derived from axes and estimators, and true to Proposition 1."""

import itertools

import pytest

from engine.scoring.identities import ProblemFacts
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import Measured, verdict

REMOVE, REOPTIMIZE = {"kind": "remove"}, {"kind": "reoptimize"}
ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}
FIVE = {"kind": "unrolled", "eta": 0.1, "steps": 5}
LOCAL = ({"kind": "infinitesimal"}, {"kind": "local_response"})
TRAJECTORY = {"kind": "trajectory", "eta": 0.1}


def of(*parts):
    return Scoring.of(*parts)


STEP_LOSS = of("query_loss", ADD, STEP)
SMALL, LARGE = ({"kind": "upweight", "alpha": alpha} for alpha in (1e-5, 1e-3))


@pytest.mark.parametrize(("a", "b", "code"), [
    (STEP_LOSS, STEP_LOSS, "same scores"),
    (of("query_loss", ADD, STEP, "first_order"), of("query_loss", ADD, STEP, "first_order"), "same scores"),
    (STEP_LOSS, of("query_loss", ADD, STEP, "first_order"), "approximation error"),
    (of("query_loss", *LOCAL, "cg"), of("query_loss", *LOCAL, "lissa"), "approximation error"),
    (of("query_loss", REMOVE, REOPTIMIZE), of("query_loss", REMOVE, REOPTIMIZE, "cholesky"), "approximation error"),
    (STEP_LOSS, of("hard_margin", ADD, STEP), "specification mismatch on {B}"),
    (of("query_loss", SMALL, REOPTIMIZE), of("query_loss", LARGE, REOPTIMIZE), "specification mismatch on {P}"),
    (of("query_loss", REMOVE, REOPTIMIZE), of("query_loss", {**REMOVE, "normalization": "n"}, REOPTIMIZE),
     "specification mismatch on {P}"),
    (STEP_LOSS, of("query_loss", ADD, FIVE), "specification mismatch on {T}"),
    (STEP_LOSS, of("query_loss", ADD, {**STEP, "eta": 0.2}), "specification mismatch on {T}"),
    (of("query_loss", REMOVE, REOPTIMIZE), of("query_loss", REMOVE, {"kind": "retrain"}),
     "specification mismatch on {T}"),
    (STEP_LOSS, of("query_loss", *LOCAL), "specification mismatch on {P,T}"),
    (STEP_LOSS, of("soft_margin", ADD, FIVE), "specification mismatch on {B,T}"),
    (of("query_loss", REMOVE, REOPTIMIZE), of("correct", SMALL, REOPTIMIZE), "specification mismatch on {B,P}"),
    (STEP_LOSS, of("hard_margin", REMOVE, REOPTIMIZE), "specification mismatch on {B,P,T}"),
    (STEP_LOSS, of("hard_margin", ADD, STEP, "first_order"), "both on {B}"),
    (of("query_loss", ADD, STEP, "first_order"), of("query_loss", *LOCAL, "cg"), "both on {P,T}"),
    (STEP_LOSS, of("query_loss", *LOCAL, "kfac"), "both on {P,T}"),
])
def test_table_of_pairs(a, b, code):
    found, turned = verdict(a, b), verdict(b, a)
    assert found.code == turned.code == code and found.headline == turned.headline
    assert found.axes == tuple(code.partition("{")[2].rstrip("}").split(",")) if "{" in code else found.axes == ()
    for text in (found.reason, turned.reason):
        assert text.endswith((".", ")")) and text[0].isupper()
    words = {"B": "behavior", "P": "intervention", "T": "training process"}
    for axis, word in words.items():
        assert (word in found.headline) == (axis in found.axes), found.headline
        if axis in found.axes:
            assert a.axis(axis) in found.reason and b.axis(axis) in found.reason


ALL = [of(*parts) for parts in (
    ("query_loss", ADD, STEP), ("query_loss", ADD, STEP, "first_order"), ("soft_margin", ADD, STEP),
    ("query_loss", *LOCAL), ("query_loss", *LOCAL, "cg"), ("query_loss", *LOCAL, "kfac"),
    ("query_loss", REMOVE, REOPTIMIZE), ("hard_margin", REMOVE, REOPTIMIZE, "cholesky"))]


def test_kinds_follow_from_axes_and_estimators():
    for a, b in itertools.product(ALL, ALL):
        found = verdict(a, b)
        differs, approximate = a.specification != b.specification, not (a.exact and b.exact)
        expected = ("both" if approximate else "specification mismatch") if differs else (
            "approximation error" if approximate and a.estimator != b.estimator else "same scores")
        assert found.kind == expected and (expected != "same scores" or a == b)
        named = {scoring.route.title for scoring in (a, b) if not scoring.exact}
        if found.kind in ("approximation error", "both"):
            assert all(title.lower() in found.reason.lower() for title in named)


@pytest.mark.parametrize(("process", "holds"), [
    ((ADD, STEP), True), ((ADD, FIVE), True), ((REMOVE, REOPTIMIZE), True), (({"kind": "relabel", "label": 1},
                                                                             REOPTIMIZE), True), (LOCAL, True),
    ((REMOVE, {"kind": "retrain", "first": 2}), True), ((REMOVE, {"kind": "retrain", "seeds": 2}), False),
    ((ADD, TRAJECTORY), False),
], ids=["one step", "unrolled", "re-optimise", "relabel", "local response", "one run", "mean of runs", "trajectory"])
def test_proposition_1_is_named_just_where_it_holds(process, holds):
    """Not for an expectation over seeds, nor for a sum over checkpoints: see exact/test_proposition.py."""
    pair = [of(behavior, *process) for behavior in ("query_loss", "soft_margin")]
    assert ("Proposition 1" in verdict(*pair).reason) == holds
    assert ("Proposition 1" in verdict(*reversed(pair)).reason) == holds
    assert "Proposition" not in verdict(pair[0], of("hard_margin", *process)).reason


def test_proposition_1_is_silent_where_more_than_the_behavior_differs():
    for other in (of("soft_margin", ADD, FIVE), of("soft_margin", ADD, STEP, "first_order")):
        found = verdict(STEP_LOSS, other)
        assert "Proposition" not in found.reason or found.axes == ("B",)
    assert "Proposition" not in verdict(STEP_LOSS, of("soft_margin", ADD, FIVE)).reason


CONVEX, TWO = (ProblemFacts(convex=True, linear=True, classes=classes) for classes in (3, 2))
RETRAIN = {"kind": "retrain", "seeds": 3}
ONCE_UNROLLED = {"kind": "unrolled", "eta": 0.1, "steps": 1}
DIFFERENT, EQUAL, ALIKE = Measured(False, False), Measured(True, True), Measured(False, True)


@pytest.mark.parametrize(("a", "b", "facts"), [
    (STEP_LOSS, of("query_loss", ADD, ONCE_UNROLLED), ProblemFacts()),
    (of("query_loss", REMOVE, REOPTIMIZE), of("query_loss", REMOVE, RETRAIN), CONVEX),
    (of("soft_margin", ADD, STEP), of("hard_margin", ADD, STEP), TWO),
    (of("query_logit", ADD, STEP), of("query_logit", ADD, STEP, "first_order"), CONVEX),
])
def test_what_must_be_equal_is_the_same_whatever_it_is_called(a, b, facts):
    for first, second in ((a, b), (b, a)):
        found = verdict(first, second, facts, EQUAL)
        assert found.code == "same scores" and "differ" not in found.headline + found.reason.replace("differently", "")
        assert "equal: " in found.reason and "unknown" not in found.reason


def test_an_approximation_of_an_equal_question_is_an_error_of_approximation():
    found = verdict(STEP_LOSS, of("query_loss", ADD, ONCE_UNROLLED, "first_order"))
    assert found.code == "approximation error" and "one step" in found.reason


@pytest.mark.parametrize(("a", "b", "facts", "said"), [
    (STEP_LOSS, of("probability", ADD, STEP), ProblemFacts(), "rank training examples the same"),
    (of("query_logit", ADD, STEP), of("query_logit", ADD, {**STEP, "eta": 0.4}), CONVEX, "proportional"),
    (of("query_loss", REMOVE, REOPTIMIZE), of("query_loss", REMOVE, {**REOPTIMIZE, "baseline": "reoptimized"}),
     ProblemFacts(), "up to a constant"),
    (of("query_loss", ADD, STEP, "first_order"), of("query_loss", ADD, {**STEP, "eta": 0.4}, "first_order"),
     ProblemFacts(), "proportional"),
])
def test_a_different_question_with_the_same_ranking_says_so(a, b, facts, said):
    found = verdict(a, b, facts, ALIKE)
    assert found.axes and said in found.reason and "same ranking" in found.headline and "unknown" not in found.reason


@pytest.mark.parametrize(("process", "facts", "kind"), [
    ({"kind": "retrain"}, ProblemFacts(), "another run"), ({"kind": "replay"}, ProblemFacts(), "another run"),
    ({"kind": "retrain"}, ProblemFacts(convex=True), "same scores"),
    ({"kind": "replay"}, ProblemFacts(convex=True), "same scores")])
@pytest.mark.parametrize(("own", "other", "headline", "said"), [
    ({}, {"first": 1}, "Same question about another run", "differ in the seed alone"),
    ({"seeds": 2}, {"seeds": 5}, "Same question about other runs", "means over different training runs"),
    ({"seeds": 2}, {"seeds": 2, "first": 5}, "Same question about other runs", "They estimate one expectation")])
def test_another_run_is_the_same_question(process, facts, kind, own, other, headline, said):
    for first, second in ((own, other), (other, own)):
        found = verdict(*(of("query_loss", by(process), {**process, **runs}) for runs in (first, second)), facts)
        assert found.code == kind
        if kind == "another run":
            assert found.headline == headline and said in found.reason and not found.axes


@pytest.mark.parametrize("process", [{"kind": "retrain"}, {"kind": "replay"}])
@pytest.mark.parametrize(("own", "other"), [({}, {"seeds": 4}), ({"first": 2}, {"seeds": 4}),
                                            ({}, {"seeds": 4, "first": 7})])
def test_one_run_and_the_mean_over_runs_are_two_questions(process, own, other):
    for first, second in ((own, other), (other, own)):
        asked = [of("query_loss", by(process), {**process, **runs}) for runs in (first, second)]
        found = verdict(*asked)
        assert found.code == "specification mismatch on {T}"
        assert found.headline == "Different question: one run · mean of runs"
        assert "the training process differs" in found.reason and "seed alone" not in found.reason
        assert verdict(*asked, ProblemFacts(convex=True)).code == "same scores"  # no seed enters its training


def by(process):
    return {"kind": "infinitesimal"} if process["kind"] == "replay" else REMOVE


def test_another_run_of_another_question_is_a_mismatch():
    found = verdict(of("query_loss", REMOVE, {"kind": "retrain"}),
                    of("query_logit", REMOVE, {"kind": "retrain", "first": 1}))
    assert found.code == "specification mismatch on {B,T}"


def test_a_difference_is_claimed_only_where_it_was_measured():
    pair = STEP_LOSS, of("hard_margin", ADD, STEP)
    assert "may differ" in verdict(*pair).reason
    assert "They differ although both are computed exactly" in verdict(*pair, measured=DIFFERENT).reason
    approximate = STEP_LOSS, of("hard_margin", ADD, STEP, "first_order")
    assert "may differ" in verdict(*approximate).reason
    told = verdict(*approximate, measured=DIFFERENT).reason
    assert "may differ" not in told and "only exact answers to both separate" in told


def test_what_agrees_without_a_known_reason_is_said_to():
    pair = STEP_LOSS, of("hard_margin", ADD, STEP)
    assert "are equal here, reason unknown" in verdict(*pair, measured=EQUAL).reason
    assert "equal here, reason unknown" in verdict(*pair, measured=EQUAL).headline
    assert "rank alike here, reason unknown" in verdict(*pair, measured=ALIKE).reason


AUXILIARY = {"kind": "auxiliary"}
LOGIT_STEP = of("query_logit", AUXILIARY, STEP)


@pytest.mark.parametrize(("departed", "plain", "said"), [
    (of("query_loss", ADD, STEP, "cosine"), STEP_LOSS, "Cosine similarity answers for updates normalised to unit"),
    (of("query_loss", ADD, STEP, "cosine"), of("query_loss", ADD, STEP, "first_order"), "normalised to unit norm"),
    (of("query_logit", AUXILIARY, STEP, "cosine"), LOGIT_STEP, "normalised to unit norm"),
    (of("query_loss", ADD, STEP, "representer"), STEP_LOSS, "the last layer alone"),
    (of("query_loss", ADD, STEP, "representer"), of("query_loss", ADD, STEP, "cosine"), "the last layer alone"),
    (of("query_logit", AUXILIARY, STEP, "ntk"), LOGIT_STEP, "all selected parameters"),
])
def test_an_estimator_of_another_question_is_no_bad_answer_to_this_one(departed, plain, said):
    for pair in ((departed, plain), (plain, departed)):
        found = verdict(*pair)
        assert found.code == "both on {T}" and said in found.reason and "training process differs" in found.headline
        assert departed.axis("T") in found.reason and "whole difference is the error" not in found.reason
    assert verdict(departed, departed).code == "same scores"


def test_the_last_layers_kernel_answers_the_plain_question():
    assert verdict(of("query_logit", AUXILIARY, STEP, "ntk_last_layer"), LOGIT_STEP).code == "approximation error"


def test_what_an_estimator_implies_is_in_its_question_and_not_in_its_digest():
    cosine, first = of("query_loss", ADD, STEP, "cosine"), of("query_loss", ADD, STEP, "first_order")
    assert "its update scaled to unit norm, by how much" in cosine.question and "length one" not in first.question
    assert cosine.axis("T") == f"{first.axis('T')}, normalised" and "normalised" in cosine.latex
    assert cosine.differing_axes(first) == ("T",) and cosine.differing_axes(cosine) == ()
    assert cosine.specification == first.specification and cosine.canonical() == {**first.canonical(),
                                                                                  "estimator": "cosine"}


def test_an_axis_on_which_an_identity_makes_two_one_is_not_said_to_differ():
    """A network repeats its own recipe, whatever the steps that are written down; two classes have one rival."""
    own = [of(behavior, {"kind": "infinitesimal"}, {"kind": "replay", "steps": steps})
           for behavior, steps in (("query_loss", 5), ("query_logit", 7))]
    assert verdict(*own, ProblemFacts(stored_checkpoints=True)).code == "specification mismatch on {B}"
    assert verdict(*own).code == "specification mismatch on {B,T}"
    margins = of("soft_margin", ADD, STEP), of("hard_margin", ADD, FIVE)
    assert verdict(*margins, TWO).code == "specification mismatch on {T}"
    assert verdict(*margins, CONVEX).code == "specification mismatch on {B,T}"


def test_what_no_chip_tells_apart_is_told_apart_in_the_sentence():
    pair = [of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay", "steps": steps}) for steps in (5, 7)]
    assert "training process: replay (steps 5) against replay (steps 7)" in verdict(*pair).reason


def test_runs_that_nothing_parts_here_are_said_to_be_equal():
    """As a prediction that no run changes is."""
    runs = [of("correct", REMOVE, {"kind": "retrain", "first": first}) for first in (0, 1)]
    assert verdict(*runs, measured=EQUAL).reason.endswith("They are equal here, reason unknown.")
    assert "equal here" not in verdict(*runs, measured=DIFFERENT).reason + verdict(*runs).reason
