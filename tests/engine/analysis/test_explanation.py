"""The way between two score arrays: a metric, shares that no order of the axes decides, brackets where links miss."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, t
from torch import nn

from engine.analysis.chain import _route
from engine.analysis.comparison import compare
from engine.analysis.explanation import ERROR_A, ERROR_B, Seed, chain, explain, measure
from engine.basics.errors import InvalidInput
from engine.curvature.solution import RELATIVE
from engine.metrics.kendall import distance
from engine.problems import ModuleProblem
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.scores import Scores
from engine.scoring.scoring import Scoring
from tests.engine.problems_for_tests import arrays, problem
from tests.engine.single_thread import one_thread  # noqa: F401

ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.5}
REMOVE, REOPTIMIZE = {"kind": "remove"}, {"kind": "reoptimize"}
LOCAL = ({"kind": "infinitesimal"}, {"kind": "local_response", "damping": 0.1})
rankings = st.lists(st.lists(st.integers(-3, 3), min_size=6, max_size=6), min_size=3, max_size=3)


def naive_distance(a, b):
    pairs = list(itertools.combinations(range(len(a)), 2))
    return sum(abs(np.sign(a[i] - a[j]) - np.sign(b[i] - b[j])) for i, j in pairs) / (2 * len(pairs))


@pytest.fixture(scope="module")
def small():
    return problem(n=40, candidates=range(25), queries=6)


@settings(deadline=None, max_examples=60)
@given(rankings)
def test_the_distance_is_a_metric_also_with_ties(rows):
    found = distance(torch.tensor(rows, dtype=torch.float64)[:, None])[..., 0]
    for i, j in itertools.product(range(3), repeat=2):
        assert found[i, j] == pytest.approx(naive_distance(rows[i], rows[j]), abs=1e-15)
    assert found[0, 2] <= found[0, 1] + found[1, 2] + 1e-15


def test_without_ties_the_distance_is_that_of_tau():
    a, b = np.random.default_rng(0).normal(size=(2, 400))
    found = distance(torch.tensor(np.stack([a, b]))[:, None])[0, 1, 0]
    assert found == pytest.approx((1 - kendalltau(a, b).statistic) / 2, abs=1e-12)


PAIRS = [("gradsim", "loo"), ("gradsim", "influence_function_cg"), ("repsim", "gradsim"), ("tracin", "loo"),
         ("loo", "influence_function_lissa"), ("repsim", "loo")]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_links_sum_to_the_path_and_the_path_is_no_shortcut(small, first, second):
    found = explain(small, NAMED[first].implied(), NAMED[second].implied())
    assert found.path == pytest.approx(sum(link.length for link in found.links), abs=1e-12)
    assert found.slack == pytest.approx(found.path - found.direct.mean, abs=1e-12) and found.slack >= 0
    assert sum(link.share for link in found.links) == pytest.approx(1)
    assert all(link.low <= link.high <= 1 for link in found.links)
    told = [int(part.split("%")[0]) for part in found.sentence.split(", ") if "%" in part]
    assert told == [share for share in sorted((round(100 * link.share) for link in found.links), reverse=True) if share]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_way_back_is_as_long_link_by_link(small, first, second):
    there = explain(small, NAMED[first].implied(), NAMED[second].implied())
    back = explain(small, NAMED[second].implied(), NAMED[first].implied())
    turned = {ERROR_A: ERROR_B, ERROR_B: ERROR_A}
    expected = {frozenset(turned.get(cause, cause) for cause in link.causes): link.length for link in back.links}
    found = {frozenset(link.causes): link.length for link in there.links}
    assert found.keys() == expected.keys()
    assert all(found[causes] == pytest.approx(expected[causes], abs=1e-12) for causes in found)


def test_all_orders_of_three_axes_count_alike(small):
    a = Scoring.of("query_logit", {"kind": "upweight", "alpha": 0.05}, {"kind": "reoptimize", "damping": 0.2}, "lissa")
    b = Scoring.of("query_loss", REMOVE, REOPTIMIZE, "cg")
    found = explain(small, a, b)
    assert found.orders == 6 and {link.causes for link in found.links} == {
        (ERROR_A,), ("B",), ("P",), ("T",), (ERROR_B,)}
    corners = {}  # axes taken from b -> oriented exact scores
    for taken in itertools.chain.from_iterable(itertools.combinations("BPT", size) for size in range(4)):
        side = [b if axis in taken else a for axis in "BPT"]
        scoring = Scoring.of(side[0].behavior, side[1].intervention, side[2].process)
        corners[frozenset(taken)] = compute(small, scoring)[0].oriented
    lengths = dict.fromkeys("BPT", 0.0)
    for order in itertools.permutations("BPT"):
        for place, axis in enumerate(order):
            here, there = (corners[frozenset(order[:at])] for at in (place, place + 1))
            lengths[axis] += np.mean([naive_distance(x, y) for x, y in zip(here, there, strict=True)]) / 6
    for axis, expected in lengths.items():
        assert next(link for link in found.links if link.causes == (axis,)).length == pytest.approx(expected, abs=1e-12)


def test_proposition_one_leaves_the_behavior_nothing(small):
    found = explain(small, Scoring.of("query_loss", ADD, STEP, "first_order"), Scoring.of("soft_margin", ADD, STEP))
    behavior = next(link for link in found.links if link.causes == ("B",))
    assert behavior.length == 0 and behavior.agreement["kendall_tau"] == 1
    assert found.sentence == ("100% of the path is the approximation error of first order. Less than 0.5% of it is the "
                              "behavior, although specified differently.")


def by_hand(scoring, row, converged=True):
    values = scoring.orientation * np.array([row], dtype=float)
    return Scores(scoring, values, np.arange(len(row)), np.full(len(row), converged), np.zeros(len(row)))


def test_by_hand():
    a = Scoring.of("query_loss", ADD, STEP, "first_order")
    b = Scoring.of("query_logit", ADD, STEP)
    exact = Scoring.of("query_loss", ADD, STEP)
    way = chain(a, b, n=10)
    assert way.needed == (exact,)
    # one swap (of six pairs), then a full reversal of what is left of four: 1/6 and 5/6 of the pairs, 6/6 directly
    found = measure(way, [Seed(by_hand(a, [4, 3, 2, 1]), by_hand(b, [1, 2, 3, 4]),
                                {exact: by_hand(exact, [3, 4, 2, 1])})])
    assert [(link.causes, link.length) for link in found.links] == [((ERROR_A,), pytest.approx(1 / 6)),
                                                                    (("B",), pytest.approx(5 / 6))]
    assert found.direct.mean == 1 and found.slack == pytest.approx(0) and found.whole["kendall_tau"].mean == -1
    assert found.sentence == "83% of the path is the behavior, 17% the approximation error of first order."


def test_a_missing_station_leaves_a_bracket():
    a = Scoring.of("query_loss", ADD, STEP, "first_order")
    b = Scoring.of("query_logit", ADD, STEP)
    exact = Scoring.of("query_loss", ADD, STEP)
    found = measure(chain(a, b, n=10), [Seed(by_hand(a, [4, 3, 2, 1]), by_hand(b, [1, 2, 3, 4]), {},
                                            {exact: "It would take a year."})])
    assert [link.causes for link in found.links] == [(ERROR_A, "B")] and found.slack == 0
    assert found.bracket("B") == found.bracket(ERROR_A) == (0, 1)
    assert any("It would take a year." in note for note in found.notes)
    assert found.sentence == "100% of the path is the approximation error of first order and the behavior together."


def test_what_cannot_be_computed_is_said(small, monkeypatch):
    import engine.analysis.explanation as module
    computed = module.compute

    def refusing(problem, scorings, options=None):
        listed = [scorings] if isinstance(scorings, Scoring) else list(scorings)
        if any(scoring.process.kind == "reoptimize" and scoring.exact for scoring in listed):
            raise InvalidInput("Too large; use fewer examples.")
        return computed(problem, listed, options)

    monkeypatch.setattr(module, "compute", refusing)
    found = explain(small, Scoring.of("query_loss", {"kind": "upweight", "alpha": 0.1}, REOPTIMIZE, "cg"),
                    Scoring.of("query_loss", *LOCAL))
    low, high = found.bracket(ERROR_A)
    assert any("Too large" in note for note in found.notes) and low == 0 < high


def test_leave_one_out_against_influence_functions_is_told_apart(small):
    found = explain(small, NAMED["influence_function_lissa"].implied(), NAMED["loo"].implied())
    assert [link.causes for link in found.links] == [(ERROR_A,), ("P",), ("T",)] and found.orders == 2
    assert "together" not in found.sentence
    assert all(found.bracket(cause)[0] == found.bracket(cause)[1] for cause in (ERROR_A, "P", "T"))
    # each of the two changes nothing while the other has not been made: their halves are a mean over orders
    by_cause = {link.causes: link for link in explain(
        small, NAMED["influence_function"].implied(), NAMED["loo"].implied()).links}
    assert by_cause["P",].low < 1e-9 and by_cause["T",].low < 1e-9
    assert by_cause["P",].high == pytest.approx(2 * by_cause["P",].length) and any(
        "The intervention is between 0.000" in told for told in found.by_order)


def test_a_linear_answer_may_stand_at_a_station_itself(small):
    linear = Scoring.of("query_loss", REMOVE, REOPTIMIZE, "cholesky")
    found = explain(small, linear, Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response"}))
    assert {link.causes for link in found.links} == {(ERROR_A,), ("P",), ("T",)} and found.direct.mean < 1e-9


def test_an_unfit_pair_without_a_reading_stays_together(small):
    found = explain(small, NAMED["repsim"].implied("query_loss"), NAMED["loo"].implied())
    assert [link.causes for link in found.links] == [("P", "T")]
    assert "the intervention and the training process together" in found.sentence
    assert sum("No specification has" in note for note in found.notes) == 2


def test_the_same_scores_need_no_explanation(small):
    scoring = NAMED["loo"].implied()
    assert explain(small, scoring, scoring).sentence == "Both are the same scores, so there is nothing to explain."


def test_what_changes_no_ranking_is_said_of_the_links_of_which_it_holds():
    """Proposition 1 holds of one step and not of a trajectory: the behavior's link has a length all the same."""
    a = Scoring.of("query_loss", ADD, STEP)
    b = Scoring.of("soft_margin", ADD, {"kind": "trajectory", "eta": 0.5})
    [said] = [note for note in chain(a, b, 9).readings if "changes no ranking" in note]
    assert said.startswith("The behavior changes no ranking beside the training process of the first: ")
    [back] = [note for note in chain(b, a, 9).readings if "changes no ranking" in note]
    assert back.startswith("The behavior changes no ranking beside the training process of the second: ")
    [everywhere] = chain(a, Scoring.of("soft_margin", ADD, STEP), 9).readings
    assert everywhere.startswith("The behavior changes no ranking: ")


def test_which_end_is_trusted_is_said_and_why(small):
    first, second = explain(small, NAMED["influence_function_lissa"].implied(), NAMED["loo"].implied()).ends
    assert first.startswith("The first answer, LiSSA, is an approximation; the exact answer to its question")
    assert "is known to be right: its linear system is positive definite and solved to a relative residual of" in first
    assert second.startswith("The second answer is known to be right: the gradient norm at the one optimum is")
    assert explain(small, NAMED["loo"].implied(), NAMED["loo"].implied()).ends == ()


def test_a_search_blames_nobody(small):
    """Two iterations reach no optimum, of which the inverse Hessian speaks."""
    search = {"kind": "local_search", "iterations": 2}
    found = explain(small, Scoring.of("query_loss", REMOVE, search, "lissa"), Scoring.of("query_loss", REMOVE, search))
    assert [link.causes for link in found.links] == [(ERROR_A,)]
    assert "the distance between LiSSA and 2 L-BFGS iterations, which is a search" in found.sentence
    first, second = found.ends
    assert "is not known to be right: 2 L-BFGS iterations end where the gradient is" in first
    assert "right for its own definition" in second and "not a reference for inverse Hessian (LiSSA)" in second


def test_candidates_that_did_not_converge_are_left_out():
    a, b = Scoring.of("query_loss", ADD, STEP), Scoring.of("query_logit", ADD, STEP)
    first = by_hand(a, [1, 2, 3, 4])
    second = Scores(b, np.array([[9.0, 2, 3, 4]]), np.arange(4), np.array([False, True, True, True]), np.zeros(4))
    found = measure(chain(a, b, 9), [Seed(first, second, {})])
    assert found.left_out == 1 and found.direct.mean == 0
    with pytest.raises(InvalidInput, match="No candidate has scores .* because they did not converge"):
        measure(chain(a, b, 9), [Seed(by_hand(a, [1, 2], False), by_hand(b, [1, 2]), {})])


def solved(scoring, row, residual, **facts):
    """An answer to a linear system with these relative residuals; above 0.5 it missed its tolerance."""
    return Scores(scoring, scoring.orientation * np.array([row], dtype=float), np.arange(len(row)),
                  np.array(residual) <= 0.5, np.array(residual, dtype=float),
                  {"convergence": {RELATIVE: 1.0, "tolerance": 0.5, **facts}})


def test_what_a_reader_must_know_of_each_side_is_a_note_over_all_seeds():
    a, b = Scoring.of("query_loss", *LOCAL, "cg"), Scoring.of("query_loss", *LOCAL)
    seeds = [Seed(solved(a, [1, 2, 3, 4], [0.1, 0.2, 0.3, worst], negative_curvature=1.0), by_hand(b, [1, 2, 4, 3]), {})
             for worst in (3.0, 7.0)]
    found = measure(chain(a, b, 9), seeds)
    [residual] = [note for note in found.notes if "relative residual" in note]
    assert "up to 7: " in residual and "not measure its ranking" in residual
    assert sum("negative eigenvalues" in note for note in found.notes) == 1


def test_an_approximation_is_never_said_not_to_have_converged():
    a, b = Scoring.of("query_loss", *LOCAL, "cg"), Scoring.of("query_loss", *LOCAL)
    approximate = solved(a, [1, 2, 3, 4, 5], [0.1, 0.2, 0.3, 0.6, 0.7])
    lost = measure(chain(a, b, 9), [Seed(approximate, by_hand(b, [1, 2, 4, 3, 5]), {})]).lost
    assert (lost.count, lost.because) == (2, "because they did not reach the solver's tolerance")
    kept = np.array([True, True, False, False, True])
    exact = Scores(b, np.array([[1.0, 2, 4, 3, 5]]), np.arange(5), kept, np.zeros(5))
    lost = measure(chain(a, b, 9), [Seed(approximate, exact, {})]).lost
    assert lost.because == "because 2 did not converge and 1 did not reach the solver's tolerance"
    assert compare([[approximate, exact]]).lost == (lost,)


def test_scores_of_another_problem_are_refused(small):
    other = compute(problem(n=40, candidates=range(25), queries=6, seed=1), NAMED["loo"].implied())[0]
    with pytest.raises(InvalidInput, match="belong to another problem"):
        explain(small, other, NAMED["gradsim"].implied())


def test_several_seeds_are_averaged():
    drawn = [problem(n=40, candidates=range(25), queries=6, seed=seed) for seed in range(3)]
    sides = NAMED["gradsim"].implied(), NAMED["influence_function_lissa"].implied()
    each, found = [explain(one, *sides) for one in drawn], explain(drawn, *sides)
    assert found.n_seeds == 3 and found.path == pytest.approx(np.mean([one.path for one in each]))
    assert found.direct.per_seed == tuple(one.direct.mean for one in each)
    assert sum(link.share for link in found.links) == pytest.approx(1)
    for place, link in enumerate(found.links):
        shares = [one.links[place].share for one in each]
        mean, half = np.mean(shares), t.ppf(0.975, 2) * np.std(shares, ddof=1) / np.sqrt(3)
        assert link.seeds == tuple(shares)
        assert (link.share, link.share_ci95) == (pytest.approx(mean), pytest.approx(half))


def test_a_station_that_one_seed_misses_is_missing_for_all():
    a, b = Scoring.of("query_loss", ADD, STEP, "first_order"), Scoring.of("query_logit", ADD, STEP)
    exact = Scoring.of("query_loss", ADD, STEP)
    ends = by_hand(a, [4, 3, 2, 1]), by_hand(b, [1, 2, 3, 4])
    found = measure(chain(a, b, 10), [Seed(*ends, {exact: by_hand(exact, [3, 4, 2, 1])}),
                                      Seed(*ends, {}, {exact: "It would take a year."})])
    assert [link.causes for link in found.links] == [(ERROR_A, "B")] and found.links[0].seeds == (1, 1)
    assert any("It would take a year." in note for note in found.notes)


def test_seeds_are_drawn_alike_and_scores_belong_to_one(small):
    other = problem(n=41, candidates=range(25), queries=6)
    sides = NAMED["gradsim"].implied(), NAMED["loo"].implied()
    with pytest.raises(InvalidInput, match="differ in model"):
        explain([small, other], *sides)
    with pytest.raises(InvalidInput, match="belong to one problem"):
        explain([small, problem(n=40, candidates=range(25), queries=6, seed=2)], compute(small, sides[0])[0], sides[1])


def test_networks_are_explained_too():
    x, y, x_query, y_query = arrays(n=24, d=4)
    torch.manual_seed(0)
    network = ModuleProblem(nn.Linear(4, 3), x, y, x_query, y_query, range(10), dtype="float64")
    a = Scoring.of("query_loss", ADD, STEP, "first_order")
    found = explain(network, a, Scoring.of("hard_margin", ADD, {"kind": "unrolled", "eta": 0.5, "steps": 3}))
    assert [link.causes for link in found.links] == [(ERROR_A,), ("B",), ("T",)] and found.orders == 2
    lost = explain(network, a, Scoring.of("query_loss", {"kind": "infinitesimal"},
                                          {"kind": "local_response", "damping": 1.0}, "cg"))
    assert {cause for link in lost.links for cause in link.causes} == {ERROR_A, "P", "T", ERROR_B}


def rows(scoring, values):
    values = scoring.orientation * np.array(values, dtype=float)
    k = values.shape[1]
    return Scores(scoring, values, np.arange(k), np.full(k, True), np.zeros(k))


def test_queries_that_a_station_ranks_as_constant_are_dropped_and_counted():
    a, b = Scoring.of("query_loss", ADD, STEP, "first_order"), Scoring.of("query_logit", ADD, STEP)
    exact = Scoring.of("query_loss", ADD, STEP)
    ends = rows(a, [[4, 3, 2, 1], [4, 3, 2, 1]]), rows(b, [[1, 2, 3, 4], [1, 2, 3, 4]])
    found = measure(chain(a, b, 10), [Seed(*ends, {exact: rows(exact, [[3, 4, 2, 1], [7, 7, 7, 7]])})])
    assert found.direct.n_dropped == 1 and found.direct.mean == 1
    assert [link.length for link in found.links] == [pytest.approx(1 / 6), pytest.approx(5 / 6)]
    assert all(value == value for link in found.links for value in link.agreement.values())
    assert "1 constant query dropped" in found.sentence
    with pytest.raises(InvalidInput, match="has a constant ranking"):
        measure(chain(a, b, 10), [Seed(*ends, {exact: rows(exact, [[5] * 4, [7] * 4])})])


def test_slack_and_orders_are_in_the_sentence_and_shares_are_rounded():
    a, b = Scoring.of("query_loss", ADD, STEP, "first_order"), Scoring.of("query_logit", ADD, STEP)
    exact = Scoring.of("query_loss", ADD, STEP)
    found = measure(chain(a, b, 10), [Seed(by_hand(a, [4, 3, 2, 1]), by_hand(b, [3, 4, 2, 1]),
                                           {exact: by_hand(exact, [4, 3, 1, 2])})])
    assert found.slack == pytest.approx(1 / 3) and "slack 0.333 of 0.500" in found.sentence
    two = replace(found, links=tuple(replace(link, share=share) for link, share in zip(
        found.links, (0.684, 0.316), strict=True)))
    assert two.sentence.startswith("68% of the path is") and "32%" in two.sentence


def test_a_way_of_several_axes_says_how_many_orders_it_has(small):
    told = explain(small, NAMED["influence_function_lissa"].implied(), NAMED["loo"].implied()).sentence
    assert "mean over 2 feasible orders of the axes" in told and "errors enter at the ends only" in told


def test_an_identity_spares_a_station_and_is_given_as_the_reason(small):
    scoring = Scoring.of("query_loss", REMOVE, REOPTIMIZE)
    found = explain(small, scoring, Scoring.of("probability", REMOVE, {"kind": "retrain"}))
    assert found.path == 0 and any("behavior changes no ranking" in note for note in found.notes)
    assert any("process changes no ranking: the objective has one optimum" in note for note in found.notes)


@pytest.mark.parametrize(("estimator", "said"), [
    ("lissa;iterations=100", "LiSSA, 100 iterations"), ("cg;tolerance=0.1", "conjugate gradients, tolerance 0.1"),
    ("arnoldi;rank=32", "Arnoldi, rank 32"), ("trak;dimension=64", "TRAK, dimension 64")])
def test_a_name_stays_itself_with_its_settings(estimator, said):
    assert _route(Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"}, estimator)) == said
