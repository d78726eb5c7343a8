"""Comparing score arrays: oriented first, without what did not converge, per query, and only what belongs together."""

import numpy as np
import pytest
from scipy.stats import kendalltau, sem, t

from engine.analysis.comparison import compare, measured
from engine.basics.errors import InvalidInput
from engine.scoring.compute import compute
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive

ADD, STEP, REOPTIMIZE = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1}, {"kind": "reoptimize"}
STEP_LOSS = Scoring.of("query_loss", ADD, STEP)
STEP_MARGIN = Scoring.of("hard_margin", ADD, STEP)
LOO = Scoring.of("query_loss", {"kind": "remove"}, REOPTIMIZE)
ONCE = np.random.default_rng(0)


def scores(scoring, values, converged=None, data="a"):
    values = np.asarray(values, dtype=float)
    k = values.shape[1]
    converged = np.ones(k, bool) if converged is None else np.array(converged, bool)
    return Scores(scoring, values, np.arange(k), converged, np.zeros(k), {"data": data})


def draw(seeds=1, queries=6, candidates=30):
    return [[scores(scoring, ONCE.normal(size=(queries, candidates))) for scoring in (STEP_LOSS, STEP_MARGIN, LOO)]
            for _ in range(seeds)]


@pytest.mark.parametrize("seeds", [1, 3])
def test_mean_and_interval_against_scipy(seeds):
    drawn = draw(seeds)
    comparison = compare(drawn)
    for a, b in ((0, 1), (0, 2), (2, 1)):
        taus = np.array([[kendalltau(left, right).statistic for left, right in
                          zip(one[a].oriented, one[b].oriented, strict=True)] for one in drawn])
        np.testing.assert_allclose(comparison.per_query["kendall_tau"][:, a, b], taus, atol=1e-12)
        found = comparison.agreement("kendall_tau", a, b)
        sample = taus.mean(1) if seeds > 1 else taus[0]
        assert found.mean == pytest.approx(taus.mean()) and found.n_seeds == seeds
        assert found.ci95 == pytest.approx(sem(sample) * t.ppf(0.975, len(sample) - 1))
        assert found.interval_over == ("seeds" if seeds > 1 else "queries")


def test_scores_are_oriented_before_they_are_compared():
    """Removal's sign is turned: what helps when added must hurt when removed."""
    values = ONCE.normal(size=(4, 20))
    comparison = compare([[scores(STEP_LOSS, values), scores(LOO, -values)]])
    for metric in ("kendall_tau", "sign_agreement", "top_overlap"):
        assert comparison.agreement(metric, 0, 1).mean == pytest.approx(1.0)
    assert compare([[scores(STEP_LOSS, values), scores(LOO, values)]]).agreement("kendall_tau", 0, 1).mean == -1.0


def test_what_did_not_converge_is_left_out_everywhere_and_counted():
    drawn = draw(2, candidates=12)
    drawn[0][0].converged[[1, 5]] = False
    drawn[0][2].converged[[5, 7]] = False
    for one in drawn[0]:
        one.values[:, [1, 5, 7]] = 1e9
    comparison = compare(drawn)
    assert comparison.left_out == (3, 0)
    kept = np.setdiff1d(np.arange(12), [1, 5, 7])
    for q in range(6):
        expected = kendalltau(drawn[0][0].values[q, kept], drawn[0][1].values[q, kept]).statistic
        assert comparison.per_query["kendall_tau"][0, 0, 1, q] == pytest.approx(expected)
    assert set(comparison.table()["n_left_out"]) == {3}
    drawn[1][1].converged[:] = False
    with pytest.raises(InvalidInput, match="No candidate is left to compare because they did not converge"):
        compare(drawn)


def test_constant_rankings_are_dropped_and_counted():
    drawn = draw(2)
    drawn[0][0].values[2] = 0.5
    table = compare(drawn).table(["kendall_tau"]).set_index(["a", "b"])
    assert table["n_dropped"].tolist() == [1, 1, 0] and set(table["n_queries"]) == {6}


def test_the_table_holds_each_pair_once_with_its_verdict():
    drawn = draw(2)
    table = compare(drawn, ["one", "two", "three"]).table()
    assert list(table.columns)[:8] == ["a", "b", "metric", "mean", "ci95", "n_queries", "n_dropped", "verdict"]
    assert len(table) == 9 and set(table["n_seeds"]) == {2}
    rows = table[table.metric == "top_overlap"]
    assert list(zip(rows.a, rows.b, rows.verdict, strict=True)) == [
        ("one", "two", "specification mismatch on {B}"), ("one", "three", "specification mismatch on {P,T}"),
        ("two", "three", "specification mismatch on {B,P,T}")]
    assert list(compare(drawn).names) == [STEP_LOSS.title, STEP_MARGIN.title, LOO.title]
    assert compare([drawn[0][:1]]).table().empty and "verdict" in compare([drawn[0][:1]]).table()


def test_the_fraction_is_that_of_the_top():
    a, b = np.arange(20.0)[None], np.arange(20.0)[None].copy()
    b[0, [19, 0]] = b[0, [0, 19]]
    pair = [[scores(STEP_LOSS, a), scores(STEP_MARGIN, b)]]
    assert compare(pair, fraction=0.05).agreement("top_overlap", 0, 1).mean == 0.0
    assert compare(pair, fraction=0.5).agreement("top_overlap", 0, 1).mean == 0.9


V = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(("seeds", "names", "said"), [
    ([], None, "no scores"), ([[]], None, "no scores"),
    ([[scores(STEP_LOSS, V)]], ["a", "b"], "2 names for 1"),
    ([[scores(STEP_LOSS, V)], [scores(STEP_MARGIN, V)]], None, "different scorings"),
    ([[scores(STEP_LOSS, V), scores(LOO, V)], [scores(LOO, V), scores(STEP_LOSS, V)]], None, "in one order"),
    ([[scores(STEP_LOSS, V)], [scores(STEP_LOSS, V), scores(LOO, V)]], None, "different scorings"),
    ([[scores(STEP_LOSS, V)], [scores(STEP_LOSS, V[:2])]], None, "different numbers of queries"),
    ([[scores(STEP_LOSS, V), scores(LOO, V[:2])]], None, "different problems"),
    ([[scores(STEP_LOSS, V), scores(LOO, V[:, :3])]], None, "different problems"),
    ([[scores(STEP_LOSS, V), scores(LOO, V, data="b")]], None, "different problems"),
    ([[scores(STEP_LOSS, V), Scores(LOO, V, np.array([0, 1, 3, 2]), np.ones(4, bool), np.zeros(4), {"data": "a"})]],
     None, "candidates"),
])
def test_what_does_not_belong_together_is_refused(seeds, names, said):
    with pytest.raises(InvalidInput, match=said) as caught:
        compare(seeds, names)
    assert str(caught.value).endswith(".")


def test_on_a_problem_the_soft_margin_agrees_fully_and_the_logit_does_not():
    problem = naive.problem(n=40, d=4, candidates=range(20))
    found = compute(problem, [Scoring.of(name, ADD, STEP) for name in ("query_loss", "soft_margin", "query_logit")])
    comparison = compare([found])
    assert comparison.agreement("kendall_tau", 0, 1).mean == 1.0
    assert comparison.agreement("kendall_tau", 0, 2).mean < 0.95
    assert comparison.verdicts[0][1].axes == ("B",) and comparison.verdicts[1][1].kind == "same scores"


def test_a_query_ranked_as_constant_is_dropped_for_every_metric():
    """A constant array has no top either: which candidates are in it would be the order of the file."""
    drawn = draw(1)
    drawn[0][0].values[2] = 0.5
    table = compare(drawn).table().set_index(["a", "b"])
    assert table.groupby("metric")["n_dropped"].apply(list).to_dict() == {
        name: [1, 1, 0] for name in ("kendall_tau", "sign_agreement", "top_overlap")}


def test_verdicts_know_the_problem_and_what_was_measured():
    problem = naive.problem(n=20, d=3, candidates=range(8), queries=3)
    asked = [LOO, Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"}), STEP_LOSS]
    found = compute(problem, asked)
    known = compare([found], problem=type(problem)).verdicts
    assert known[0][1].code == "same scores" and "one optimum" in known[0][1].reason
    assert "They differ although both are computed exactly" in known[0][2].reason
    unknown = compare([found]).verdicts[0][1]
    assert unknown.code == "specification mismatch on {T}" and "equal here, reason unknown" in unknown.headline
    values = ONCE.normal(size=(3, 8))
    alike = compare([[scores(STEP_LOSS, values), scores(STEP_MARGIN, 2 * values + 1)]]).verdicts[0][1]
    assert "rank alike here, reason unknown" in alike.reason


APPROXIMATE = tuple(Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}, name)
                    for name in ("cg", "lissa"))


@pytest.mark.parametrize(("noise", "same"), [(0.0, True), (1e-8, True), (2e-6, True), (1e-4, False), (1e-2, False)])
def test_two_answers_to_one_question_are_the_same_to_the_distance_that_was_measured(noise, same):
    """Two programs for one estimator, 2e-6 apart: no error of approximation, and the distance is said."""
    values = ONCE.normal(size=(5, 200))
    moved = values + noise * np.sign(ONCE.normal(size=(5, 200)))
    pair = [[scores(APPROXIMATE[0], values), scores(APPROXIMATE[1], moved)]]
    found = compare(pair).verdicts[0][1]
    assert (found.code == "same scores") == same
    assert (found.headline == "Same question, both answers are approximate") != same
    if same:
        said = found.headline.removeprefix("Same question, same scores to ")
        far = (np.abs(moved - values).max(1) / np.maximum(moved.std(1), values.std(1))).max()
        assert said == "the last digit" if not noise else far <= float(said) <= 2 * far
        assert "exact answer is a separate question" in found.reason and f"more than {said} of" in found.reason


def test_distance_is_measured_by_the_spread_of_each_query():
    values = ONCE.normal(size=(3, 50))
    values[1] *= 1e6  # of one query: the others are judged by their own spread
    other = values.copy()
    other[0, 7] += 1e-3
    stack = np.stack([values, other])
    seen = measured([stack], np.ones((1, 3)))
    assert seen.distance == pytest.approx(1e-3 / values[0].std(), rel=1e-2) and seen.least == 1 and not seen.close


def test_close_numbers_whose_order_is_gone_are_not_the_same_scores():
    """One training example outweighs all others: within 1e-5 of the spread the rest can be in any order."""
    values = 1e-6 * ONCE.normal(size=(4, 100))
    values[:, 0] = 1.0
    other = 1e-6 * ONCE.normal(size=(4, 100))
    other[:, 0] = 1.0
    assert compare([[scores(APPROXIMATE[0], values), scores(APPROXIMATE[1], other)]]).verdicts[0][1].code == (
        "approximation error")
    flat = np.ones((1, 2, 3))
    assert measured([np.concatenate([flat, flat])], None).distance == 0
    assert np.isinf(measured([np.concatenate([flat, 2 * flat])], None).distance)


def test_the_advice_where_nothing_converged_names_nothing_that_the_scorings_have_not():
    values, lost = ONCE.normal(size=(2, 6)), np.zeros(6, bool)
    raised = Scoring.of("query_loss", {"kind": "upweight", "alpha": 0.1}, REOPTIMIZE)
    again = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})
    for scoring, said, unsaid in ((LOO, "local_search", "α"), (APPROXIMATE[0], "damping", "local_search"),
                                  (raised, "lower α", "precision"), (again, "raise l2", "damping")):
        with pytest.raises(InvalidInput) as refused:
            compare([[scores(scoring, values, lost), scores(scoring, values, lost)]])
        assert said in str(refused.value) and unsaid not in str(refused.value)
