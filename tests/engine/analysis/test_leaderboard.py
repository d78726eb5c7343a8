"""A leaderboard against its definitions, cell by cell, on a convex problem and on a network."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau, spearmanr

from engine.analysis.leaderboard import COLUMNS, LeaderboardRequest, answering
from engine.analysis.leaderboard.board import recalled, reciprocal_ranks
from engine.analysis.leaderboard.chunks import GROUPS
from engine.analysis.leaderboard.questions import VARIANTS, scorings, with_settings
from engine.analysis.scorecard.benchmark import CEILING, Case, Sizes
from engine.analysis.scorecard.retrained import removed
from engine.analysis.scorecard.tail_patch import patched
from engine.analysis.subset_bank import Draw, bank
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.basics.spent import measured
from engine.problems import CausalProblem, ModuleProblem, SoftmaxProblem
from engine.problems.variants import trained_on
from engine.scoring.codes import decode, encode
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.store.results import Store
from tests.engine.analysis.test_scorecard import network
from tests.engine.problems_for_tests import problem
from tests.engine.single_thread import one_thread  # noqa: F401

SIZES = Sizes(candidates=12, models=6, fractions=(0.5,), queries=2, removed=(0.25,), seeds=2, top=3, among="all")
CONVEX, OF_NETWORK = ("gradsim", "influence_function", "loo", "random"), ("repsim", "replay", "random")


def boarded(own, methods, store):
    request = LeaderboardRequest(sizes=SIZES, methods=methods).of_problem(own)
    return request.run(own, store=store).board


def cell(table, method, column, against=""):
    rows = table[(table["method"] == method) & (table["column"] == column) & (table["against"] == against)]
    assert len(rows) == 1, (method, column, against)
    return rows.iloc[0]


@pytest.fixture(scope="module")
def convex(tmp_path_factory):
    own, store = problem(n=24, classes=3, queries=4, candidates=range(12)), Store(tmp_path_factory.mktemp("store"))
    return own, store, boarded(own, CONVEX, store)


def test_agreement_with_each_question_and_the_mark_of_ones_own(convex):
    own, _, table = convex
    asked = table.loc[table["column"] == "agreement", "against"].unique()
    assert set(asked) == {encode(NAMED[name].implied(eta=0.01).exact_answer) for name in CONVEX[:3]}
    for name in CONVEX[:3]:
        values = compute(own, NAMED[name].implied(eta=0.01))[0].oriented
        for code in asked:
            exact = compute(own, decode(code))[0].oriented
            expected = np.mean([kendalltau(a, b)[0] for a, b in zip(values, exact, strict=True)])
            found = cell(table, name, "agreement", code)
            assert found["mean"] == pytest.approx(expected) and found["n_queries"] == 4
            assert found["own"] == (NAMED[name].implied(eta=0.01).exact_answer == decode(code))
    assert cell(table, "loo", "agreement", "query_loss/remove/retrain")["mean"] == 1
    assert not table.loc[table["method"] == "random", "own"].any()


def test_the_other_columns_are_their_definitions(convex):
    own, store, table = convex
    scores = {name: compute(own, NAMED[name].implied(eta=0.01))[0].oriented for name in CONVEX}
    models = bank(own, Draw(count=6, share=0.5, among="all"), store)
    outcomes = models.outcomes("query_loss")
    case, effects = Case(own, CONVEX, "query_loss", SIZES, store), patched(own, Options())
    groups = [np.random.default_rng([0, 7])]
    groups = [groups[0].choice(12, 3, replace=False) for _ in range(GROUPS)]
    lost = -removed(case, [own.candidates[torch.as_tensor(group)] for group in groups], Options())[:2]
    for name, values in scores.items():
        lds = [spearmanr(row @ models.members.T, out)[0] for row, out in zip(values, outcomes, strict=True)]
        assert cell(table, name, "lds")["mean"] == pytest.approx(np.mean(lds))
        tops = [np.argsort(-row)[:3] for row in values]
        patch = np.mean([effects[query, top].mean() for query, top in enumerate(tops)])
        assert cell(table, name, "tail_patch")["mean"] == pytest.approx(patch)
        drops = [-removed(case, [own.candidates[torch.as_tensor(tops[query].copy())]], Options())[query, 0]
                 for query in range(2)]
        assert cell(table, name, "removal")["mean"] == pytest.approx(np.mean(drops), abs=1e-7)
        assert cell(table, name, "qld")["mean"] == pytest.approx(np.mean(drops) - lost.mean(), abs=1e-7)
        assert cell(table, name, "seconds")["mean"] >= 0
    assert CEILING not in set(table["method"]), "one optimum has no other seed"
    assert set(table["column"]) == set(COLUMNS) - {"lds_other"}


def test_recall_counts_the_exact_top_in_twice_as_many():
    exact = np.arange(40.0)[None]
    assert recalled(exact, exact) == [1] and recalled(-exact, exact) == [0]
    shifted = exact.copy()
    shifted[0, 39] = 36.5  # still among the first four
    shifted[0, 38] = -1
    assert reciprocal_ranks(exact, exact) == [1] and reciprocal_ranks(-exact, exact) == [1 / 40]
    assert reciprocal_ranks(shifted, exact) == [0.5] and recalled(shifted, exact) == [0.5]
    assert np.isnan(recalled(np.full((1, 40), np.nan), exact)).all()


def test_a_network_has_ceilings_of_another_seed_and_what_cannot_be_said_has_its_reason(tmp_path):
    own, store = network(), Store(tmp_path)
    table = boarded(own, OF_NETWORK, store)
    code = encode(NAMED["replay"].implied())
    here, there = (compute(one, decode(code))[0].oriented for one in (own, trained_on(own, own.examples, Options(), 1)))
    expected = np.mean([kendalltau(a, b)[0] for a, b in zip(here, there, strict=True)])
    assert cell(table, CEILING, "agreement", code)["mean"] == pytest.approx(expected)
    outcomes = [bank(own, Draw(count=6, share=0.5, among="all", later=later), store).outcomes("query_loss")
                for later in (0, 1)]
    between = np.mean([spearmanr(a, b)[0] for a, b in zip(*outcomes, strict=True)])
    assert cell(table, CEILING, "lds_other")["mean"] == pytest.approx(between)
    assert cell(table, "replay", "agreement", code)["own"] and cell(table, "replay", "lds_other")["n_queries"] == 7
    quick = LeaderboardRequest(sizes=SIZES, methods=("replay", "random"), most_seconds=0.0).of_problem(own)
    dear = quick.run(own, store=store).board
    assert "would take about" in dear[dear["method"] == "replay"]["note"].iloc[0]


def test_every_method_that_answers_for_a_kind_is_on_it():
    for kind in (SoftmaxProblem, ModuleProblem):
        named = {name for name, method in NAMED.items() if method.answers(kind.kind)}
        assert set(answering(kind)) == named | {one for one in VARIANTS if one.partition(";")[0] in named}
    assert "influence_function" not in answering(CausalProblem), "its Hessian takes too long"
    with pytest.raises(InvalidInput, match="`bm25` is not defined for softmax"):
        LeaderboardRequest(methods=("bm25",)).of_problem(problem(n=12))


def test_a_variant_is_the_named_method_with_its_settings():
    own = network()
    one = scorings(ModuleProblem, VARIANTS, "query_loss")["trak;ridge_rule=gcv"]
    assert one == NAMED["trak"].implied("query_loss").model_copy(update={"estimator": "trak;ridge_rule=gcv"})
    assert with_settings(VARIANTS[0]).title != with_settings("trak").title == NAMED["trak"].title
    assert np.isfinite(compute(own, one)[0].values).all()


def test_memory_is_that_of_the_block_alone():
    with measured() as small:
        pass
    with measured() as large:
        held = torch.ones(40_000_000)
    assert held.sum() > 0 and (np.isnan(large.memory) or large.memory > 100e6 + small.memory)
    assert large.seconds > 0
