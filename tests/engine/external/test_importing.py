"""Scores from elsewhere: axes and sign are told from the data, and the claim decides the verdict."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kendalltau

from engine.analysis.comparison import compare
from engine.analysis.explanation import ERROR_A, explain
from engine.basics.errors import InvalidInput, MissingData
from engine.basics.folders import HOME
from engine.external.importing import agreement_with, matched, scores_of, scoring_of, stored
from engine.external.matching import CANDIDATES, LISTED, QUERIES, TRAINING, axes_that_fit
from engine.external.reading import instead, preview, references
from engine.external.table import Table
from engine.metrics.agreement import METRICS
from engine.problems import PROBLEMS
from engine.scoring import codes, cost
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict
from engine.store import external_scores
from tests.engine.problems_for_tests import problem
from tests.engine.single_thread import one_thread  # noqa: F401

REMOVED = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})
STEP = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
ROWS = np.array([7, 2, 30, 11, 4, 25, 18, 9, 0, 33, 21, 15])


def imported(problem, table, claim, name, axes, sign, order=LISTED, facts=None):
    """The scores of a table, as `bring` and `wf.imported` make them."""
    held = matched(problem, table, axes, order, facts)
    return scores_of(problem, held, scoring_of(held, claim, name, sign))


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
    name = {1: "plus", -1: "minus"}[sign]
    assert (seen.likely.axes, seen.likely.sign, seen.certain) == (axes, name, True)
    assert all(reason.endswith(".") for reason in seen.reasons)
    brought = imported(small, table, REMOVED.specification, "mine", axes, name)
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
        assert seen.likely.axes == axes and len(seen.interpretations) == 4 \
            and "fits both orientations" in seen.reasons[0]


def test_unrelated_scores_leave_the_sign_open(small, exact):
    seen = preview(small, Table(np.random.default_rng(5).normal(size=(8, 12))), exact)
    assert not seen.certain and "before you set the sign" in seen.reasons[1]
    assert "check that queries and training examples are those of this problem" in seen.reasons[1]


def test_a_square_table_that_the_data_do_not_tell_leaves_its_axes_open():
    square = problem(n=30, candidates=range(7), queries=7)
    seen = preview(square, Table(np.random.default_rng(5).normal(size=(7, 7))), compute(square, STEP)[0])
    assert not seen.axes_certain and "state whether the rows are queries" in seen.reasons[0]


@pytest.mark.parametrize("order", [LISTED, TRAINING])
def test_the_order_of_all_training_examples_is_told_by_the_reference(order):
    shuffled = np.random.default_rng(2).permutation(30)
    whole = problem(n=30, candidates=shuffled, queries=8)
    reference = compute(whole, STEP)[0]
    values = reference.oriented if order == LISTED else reference.oriented[:, np.argsort(shuffled)]
    seen = preview(whole, Table(values), reference)
    assert seen.certain and seen.likely.order == order and seen.orders(QUERIES) == [order, {
        LISTED: TRAINING, TRAINING: LISTED}[order]]
    brought = imported(whole, Table(values), STEP.specification, "mine", QUERIES, "plus", order)
    np.testing.assert_array_equal(brought.oriented, reference.oriented)
    assert brought.provenance["brought"]["order"] == order and "does not name" in seen.reasons[0]
    named = Table(reference.oriented, candidates=shuffled)
    assert preview(whole, named, reference).orders(QUERIES) == [LISTED]


def test_numbered_queries_are_put_in_order_and_others_refused(small, exact):
    shuffled = np.random.default_rng(1).permutation(8)
    table = Table(exact.oriented[shuffled], rows=shuffled)
    np.testing.assert_array_equal(imported(small, table, REMOVED.specification, "mine", QUERIES, "plus").oriented,
                                  exact.oriented)
    with pytest.raises(InvalidInput, match="are numbered 8 and others, but those of the problem are 0 to 7"):
        preview(small, Table(exact.oriented, rows=np.arange(1, 9)), exact)
    turned = Table(exact.oriented.T, rows=ROWS)
    np.testing.assert_array_equal(imported(small, turned, REMOVED.specification, "mine", CANDIDATES, "plus").oriented,
                                  exact.oriented)


def test_a_query_without_scores_is_left_out_and_said(small, exact):
    values = exact.oriented.copy()
    values[3] = np.nan
    brought = imported(small, Table(values), REMOVED.specification, "mine", QUERIES, "plus")
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
    brought = imported(small, table, REMOVED.specification, "mine", QUERIES, "plus", facts=seen.facts(seen.likely))
    decided = brought.provenance["brought"]["sign_decided"]
    assert seen.decided(seen.likely) == "data" and decided["reference"] == exact.scoring.title
    assert decided["agreement_with_reference"] == pytest.approx(seen.likely.agreement)
    rough = replace(exact, provenance={**exact.provenance, "exact": False})
    assert "agreement with the exact answer is unknown" in preview(small, table, rough).reasons[-1]
    partly = replace(exact, converged=np.arange(12) > 1)
    assert "converged for 10 of 12 candidates only" in preview(small, table, partly).reasons[-1]
    assert seen.decided(seen.under(QUERIES, LISTED, "minus")) == "user"


def test_named_candidates_are_put_in_order(small, exact):
    shuffled = np.random.default_rng(1).permutation(12)
    table = Table(exact.oriented[:, shuffled], candidates=ROWS[shuffled])
    np.testing.assert_array_equal(imported(small, table, REMOVED.specification, "mine", QUERIES, "plus").oriented,
                                  exact.oriented)
    with pytest.raises(InvalidInput, match="no scores of training example 7"):
        imported(small, Table(exact.oriented, candidates=ROWS + 1), REMOVED.specification, "mine", QUERIES, "plus")


def test_a_table_of_another_problem_is_refused(small, exact):
    table = Table(np.zeros((8, 13)))
    assert axes_that_fit(small, table) == []
    with pytest.raises(InvalidInput, match="8 queries and 12 candidates, or all 40 training examples"):
        preview(small, table, exact)
    with pytest.raises(InvalidInput, match="The sign is up"):
        imported(small, Table(exact.oriented), REMOVED.specification, "mine", QUERIES, "up")


def test_scores_that_are_not_finite_are_flagged(small, exact):
    values = exact.oriented.copy()
    values[3, 5] = np.nan
    brought = imported(small, Table(values), REMOVED.specification, "mine", QUERIES, "plus")
    assert brought.converged.sum() == 11 and not brought.converged[5]
    assert compare([[exact, brought]]).left_out == (1,)
    assert preview(small, Table(values), exact).likely.agreement == pytest.approx(1)
    with pytest.raises(InvalidInput, match="No training example has finite"):
        imported(small, Table(np.full((8, 12), np.inf)), REMOVED.specification, "mine", QUERIES, "plus")


def test_verdict_and_explanation_hold_for_a_claim(small, exact):
    brought = imported(small, Table(noisy(exact)), REMOVED.specification, "mine", QUERIES, "plus")
    other = imported(small, Table(noisy(exact, 0.6)), REMOVED.specification, "theirs", QUERIES, "plus")
    assert verdict(brought.scoring, exact.scoring).code == "approximation error"
    assert verdict(brought.scoring, other.scoring).code == "approximation error"
    assert verdict(brought.scoring, brought.scoring).code == "same scores"
    assert verdict(brought.scoring, STEP).code == "both on {P,T}"
    found = explain(small, brought, STEP)
    assert found.links[0].causes == (ERROR_A,) and "the approximation error of mine" in found.sentence
    assert found.links[0].agreement["kendall_tau"] == pytest.approx(
        agreement_with(exact, brought, METRICS)["kendall_tau"].mean)


def test_a_claim_its_name_and_its_sign_survive_as_text_and_in_the_store(small, exact, tmp_path, monkeypatch):
    monkeypatch.setenv(HOME, str(tmp_path))
    values = noisy(exact)
    values[2, 5] = np.nan
    held = matched(small, Table(-values), QUERIES, facts={"file": "theirs.npy"})
    scoring = scoring_of(held, REMOVED.specification, " 50% of a/b; c=d ", "minus", "data", 0.81234)
    assert codes.decode(codes.encode(scoring)) == scoring == Scoring.read(scoring.canonical())
    assert scoring.route.title == "50% of a/b; c=d" and scoring.exact_answer == REMOVED
    assert scoring.route.facts["brought"]["sign_decided"] == {"by": "agreement with the reference",
                                                               "agreement_with_reference": 0.812}
    with pytest.raises(MissingData, match="import its file"):
        compute(small, scoring)
    assert external_scores.keep(held) == external_scores.keep(held) == held.digest
    [computed] = compute(small, scoring)
    given = scores_of(small, held, scoring)
    np.testing.assert_array_equal(computed.values, given.values)
    np.testing.assert_array_equal(computed.converged, given.converged)
    np.testing.assert_allclose(computed.oriented[:, computed.converged], values[:, computed.converged])
    fewer = small.with_candidates(small.candidates[[3, 1]])
    np.testing.assert_array_equal(compute(fewer, scoring)[0].values, computed.values[:, [3, 1]])
    more = small.with_candidates([*ROWS, 1])
    assert not compute(more, scoring)[0].converged[-1]
    assert stored(given, "") == scoring and cost.guess([scoring], small, 12) == 0


def test_scores_are_those_of_one_problem(small, exact, tmp_path, monkeypatch):
    monkeypatch.setenv(HOME, str(tmp_path))
    held = matched(small, Table(noisy(exact)), QUERIES)
    external_scores.keep(held)
    scoring = scoring_of(held, REMOVED.specification, "mine", "plus")
    other = problem(n=40, candidates=ROWS, queries=8, seed=1)
    for wrong in (other, small.at_itself(small.candidates)):
        with pytest.raises(InvalidInput, match="“mine” belong to different data"):
            compute(wrong, scoring)


@pytest.mark.parametrize("name", ["two\nlines", "", "x" * 61])
def test_a_name_that_is_no_line_is_refused(small, exact, name):
    with pytest.raises(InvalidInput, match="name of the scores"):
        scoring_of(matched(small, Table(exact.oriented), QUERIES), REMOVED.specification, name, "plus")


def test_sizes_without_a_sign_are_told_and_compared_with_sizes(small, exact):
    sizes = np.abs(noisy(exact, 0.1))
    seen = preview(small, Table(sizes), exact)
    assert seen.certain and seen.likely.sign == "unsigned" and "their absolute values rank" in seen.reasons[-1]
    mine = imported(small, Table(sizes), REMOVED.specification, "mine", QUERIES, "unsigned")
    expected = np.mean([kendalltau(a, b).statistic for a, b in zip(sizes, np.abs(exact.values), strict=True)])
    both = compare([[exact, mine, compute(small, STEP)[0]]])
    assert both.agreement("kendall_tau", 0, 1).mean == pytest.approx(expected) == pytest.approx(
        agreement_with(exact, mine, ["kendall_tau"])["kendall_tau"].mean)
    assert np.isnan(both.agreement("sign_agreement", 0, 1).mean)
    signed = compare([[exact, compute(small, STEP)[0]]])
    assert both.agreement("kendall_tau", 0, 2).mean == signed.agreement("kendall_tau", 0, 1).mean
    assert "absolute values are compared" in both.verdicts[0][1].reason
    with pytest.raises(InvalidInput, match="have no sign"):
        explain(small, mine, STEP)


def test_a_reference_may_have_fewer_candidates_than_the_table(small, exact):
    few = compute(small.with_candidates(small.candidates[[4, 2, 9]]), REMOVED)[0]
    seen, whole = preview(small, Table(-noisy(exact, 0.1)), few), preview(small, Table(-noisy(exact, 0.1)), exact)
    assert seen.likely.sign == whole.likely.sign == "minus" and seen.likely.agreement != whole.likely.agreement


def test_without_a_reference_the_shape_tells_the_axes_and_the_sign_is_left_open(small, exact):
    seen = preview(small, Table(noisy(exact)), None)
    assert not seen.certain and seen.axes_certain and seen.likely.axes == QUERIES
    assert "no reference to determine the sign" in seen.reasons[-1] and seen.facts(seen.likely) == {}


def test_a_language_model_has_a_reference_that_it_can_compute():
    """Its exact local response is not computed, and conjugate gradients with its Hessian neither."""
    claim = Scoring.of("response_loss", {"kind": "infinitesimal"}, {"kind": "local_response"})
    listed = references(claim, PROBLEMS["causal"])
    assert [one.estimator for one in listed][0] == "cg_gauss_newton" and claim not in listed
    assert "is used instead" in instead(listed[0]) and "shown unchanged" in instead(None)
    assert references(REMOVED, PROBLEMS["softmax"])[0] == REMOVED and instead(REMOVED) == ""
