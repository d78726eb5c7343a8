"""Scores from elsewhere: axes and sign are told from the data, and the claim decides the verdict."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from engine.analysis.comparison import compare
from engine.analysis.explanation import ERROR_A, explain
from engine.basics.errors import InvalidInput
from engine.external.claim import Claim, agreement_with, bring
from engine.external.matching import CANDIDATES, LISTED, QUERIES, TRAINING, axes_that_fit
from engine.external.reading import preview
from engine.external.table import Table
from engine.metrics.agreement import METRICS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict
from tests.engine.problems_for_tests import problem
from tests.engine.single_thread import one_thread  # noqa: F401

REMOVED = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
ROWS = np.array([7, 2, 30, 11, 4, 25, 18, 9, 0, 33, 21, 15])


@pytest.fixture(scope="module")
def small():
    return problem(n=40, candidates=ROWS, queries=8)


@pytest.fixture(scope="module")
def exact(small):
    return compute(small, REMOVED)[0]


def noisy(exact, scale=0.3):
    spread = exact.oriented.std(1, keepdims=True)
    return exact.oriented + scale * spread * np.random.default_rng(0).normal(size=exact.oriented.shape)


@pytest.mark.parametrize(("axes", "sign", "whole"), itertools.product((QUERIES, CANDIDATES), (1, -1), (False, True)))
def test_axes_and_sign_are_told_from_the_data(small, exact, axes, sign, whole):
    oriented = noisy(exact)
    values = sign * oriented
    if whole:  # of all training examples
        values = np.full((8, 40), 99.0)
        values[:, ROWS] = sign * oriented
    table = Table(values if axes == QUERIES else values.T)
    seen = preview(small, table, exact)
    assert (seen.likely.axes, seen.likely.sign, seen.certain) == (axes, sign, True)
    assert all(reason.endswith(".") for reason in seen.reasons)
    brought = bring(small, table, REMOVED.specification, "mine", axes, sign)
    np.testing.assert_allclose(brought.oriented, oriented)
    np.testing.assert_allclose(brought.values, -oriented)  # raw in the sense of the estimand: removal turns the sign
    expected = compare([[exact, brought]]).agreement("kendall_tau", 0, 1)
    assert seen.likely.agreement == pytest.approx(expected.mean)
    assert agreement_with(exact, brought, METRICS)["kendall_tau"].mean == pytest.approx(expected.mean)


def test_a_square_table_is_told_by_the_reference():
    square = problem(n=30, candidates=range(7), queries=7)
    reference = compute(square, STEP)[0]
    for axes, values in ((QUERIES, reference.oriented), (CANDIDATES, reference.oriented.T)):
        seen = preview(square, Table(values), reference)
        assert seen.likely.axes == axes and len(seen.interpretations) == 4 and "fits both ways" in seen.reasons[0]


def test_unrelated_scores_leave_the_sign_open(small, exact):
    seen = preview(small, Table(np.random.default_rng(5).normal(size=(8, 12))), exact)
    assert not seen.certain and "say which one" in seen.reasons[1]
    assert "check first that queries and training examples are those of this problem" in seen.reasons[1]


def test_a_square_table_that_the_data_do_not_tell_leaves_its_axes_open():
    square = problem(n=30, candidates=range(7), queries=7)
    seen = preview(square, Table(np.random.default_rng(5).normal(size=(7, 7))), compute(square, STEP)[0])
    assert not seen.axes_certain and "say what the rows are" in seen.reasons[0]


@pytest.mark.parametrize("order", [LISTED, TRAINING])
def test_the_order_of_all_training_examples_is_told_by_the_reference(order):
    shuffled = np.random.default_rng(2).permutation(30)
    whole = problem(n=30, candidates=shuffled, queries=8)
    reference = compute(whole, STEP)[0]
    values = reference.oriented if order == LISTED else reference.oriented[:, np.argsort(shuffled)]
    seen = preview(whole, Table(values), reference)
    assert seen.certain and seen.likely.order == order and seen.orders(QUERIES) == [order, {
        LISTED: TRAINING, TRAINING: LISTED}[order]]
    brought = bring(whole, Table(values), STEP.specification, "mine", QUERIES, 1, None, order)
    np.testing.assert_array_equal(brought.oriented, reference.oriented)
    assert brought.provenance["brought"]["order"] == order and "does not name" in seen.reasons[0]
    named = Table(reference.oriented, candidates=shuffled)
    assert preview(whole, named, reference).orders(QUERIES) == [LISTED]


def test_numbered_queries_are_put_in_order_and_others_refused(small, exact):
    shuffled = np.random.default_rng(1).permutation(8)
    table = Table(exact.oriented[shuffled], rows=shuffled)
    np.testing.assert_array_equal(bring(small, table, REMOVED.specification, "mine", QUERIES, 1).oriented,
                                  exact.oriented)
    with pytest.raises(InvalidInput, match="are numbered 8 and others, but those of the problem are 0 to 7"):
        preview(small, Table(exact.oriented, rows=np.arange(1, 9)), exact)
    turned = Table(exact.oriented.T, rows=ROWS)
    np.testing.assert_array_equal(bring(small, turned, REMOVED.specification, "mine", CANDIDATES, 1).oriented,
                                  exact.oriented)


def test_a_query_without_scores_is_left_out_and_said(small, exact):
    values = exact.oriented.copy()
    values[3] = np.nan
    brought = bring(small, Table(values), REMOVED.specification, "mine", QUERIES, 1)
    assert brought.converged.all() and brought.provenance["brought"]["queries_left_out"] == [3]
    assert "Query 3 is left out" in brought.provenance["brought"]["note"]
    for name in METRICS:
        found = agreement_with(exact, brought, METRICS)[name]
        assert found.mean == pytest.approx(1) and found.n_dropped == 1
        assert compare([[exact, brought]]).agreement(name, 0, 1).n_dropped == 1
    seen = preview(small, Table(values), exact)
    assert seen.certain and any("Query 3 is left out" in reason for reason in seen.reasons)


def test_the_sign_says_by_which_reference_it_was_decided_and_how_good_that_is(small, exact):
    table = Table(noisy(exact))
    seen = preview(small, table, exact)
    assert exact.scoring.title in seen.reasons[-1] and "itself the exact answer" in seen.reasons[-1]
    brought = bring(small, table, REMOVED.specification, "mine", QUERIES, 1, seen.decision(QUERIES, LISTED, 1, True))
    decided = brought.provenance["brought"]["sign_decided"]
    assert decided["by"] == "agreement with the reference" and decided["reference"] == exact.scoring.title
    assert decided["agreement_with_reference"] == pytest.approx(seen.likely.agreement)
    rough = replace(exact, provenance={**exact.provenance, "exact": False})
    assert "agreement with the exact answer is not known" in preview(small, table, rough).reasons[-1]
    partly = replace(exact, converged=np.arange(12) > 1)
    assert "converged for 10 of 12 candidates only" in preview(small, table, partly).reasons[-1]
    assert seen.decision(QUERIES, LISTED, -1, False)["by"] == "the user"


def test_named_candidates_are_put_in_order(small, exact):
    shuffled = np.random.default_rng(1).permutation(12)
    table = Table(exact.oriented[:, shuffled], candidates=ROWS[shuffled])
    np.testing.assert_array_equal(bring(small, table, REMOVED.specification, "mine", QUERIES, 1).oriented,
                                  exact.oriented)
    with pytest.raises(InvalidInput, match="no scores of training example 7"):
        bring(small, Table(exact.oriented, candidates=ROWS + 1), REMOVED.specification, "mine", QUERIES, 1)


def test_a_table_of_another_problem_is_refused(small, exact):
    table = Table(np.zeros((8, 13)))
    assert axes_that_fit(small, table) == []
    with pytest.raises(InvalidInput, match="8 queries and 12 candidates, or all 40 training examples"):
        preview(small, table, exact)
    with pytest.raises(InvalidInput, match="The sign is 0"):
        bring(small, Table(exact.oriented), REMOVED.specification, "mine", QUERIES, 0)


def test_scores_that_are_not_finite_are_flagged(small, exact):
    values = exact.oriented.copy()
    values[3, 5] = np.nan
    brought = bring(small, Table(values), REMOVED.specification, "mine", QUERIES, 1)
    assert brought.converged.sum() == 11 and not brought.converged[5]
    assert compare([[exact, brought]]).left_out == (1,)
    assert preview(small, Table(values), exact).likely.agreement == pytest.approx(1)
    with pytest.raises(InvalidInput, match="not finite"):
        bring(small, Table(np.full((8, 12), np.inf)), REMOVED.specification, "mine", QUERIES, 1)


def test_verdict_and_explanation_hold_for_a_claim(small, exact):
    brought = bring(small, Table(noisy(exact)), REMOVED.specification, "mine", QUERIES, 1)
    other = bring(small, Table(noisy(exact, 0.6)), REMOVED.specification, "theirs", QUERIES, 1)
    assert verdict(brought.scoring, exact.scoring).code == "approximation error"
    assert verdict(brought.scoring, other.scoring).code == "approximation error"
    assert verdict(brought.scoring, brought.scoring).code == "same scores"
    assert verdict(brought.scoring, STEP).code == "both on {P,T}"
    found = explain(small, brought, STEP)
    assert found.links[0].causes == (ERROR_A,) and "the approximation error of mine" in found.sentence
    assert found.links[0].agreement["kendall_tau"] == pytest.approx(
        agreement_with(exact, brought, METRICS)["kendall_tau"].mean)


def test_a_claim_survives_as_data():
    claim = Claim.to(REMOVED.specification, " mine ", "abc")
    assert Claim.parse(claim.model_dump(mode="json")) == claim and claim.name == "mine"
    assert claim.digest != Claim.to(REMOVED.specification, "mine", "abd").digest and claim.reference == REMOVED
    with pytest.raises(InvalidInput, match="name of the scores"):
        Claim.to(REMOVED.specification, "two\nlines")
