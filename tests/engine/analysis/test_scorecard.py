"""Benchmarks against their definitions: naive loops, SciPy and scikit-learn, and marks that are known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import nn

from engine.analysis.datamodels import linear_datamodeling_score, retrain, retrain_members
from engine.analysis.protocols import PROTOCOLS
from engine.analysis.scorecard import (
    BENCHMARKS,
    CEILING,
    CONTROLS,
    METHODS,
    Case,
    ScorecardRequest,
    Sizes,
    card,
    fitting,
    marked,
    weights,
)
from engine.analysis.scorecard.benchmark import OTHER
from engine.analysis.scorecard.method import card_method
from engine.analysis.scorecard.request import check
from engine.analysis.scorecard.retrained import jackknife_error, pearson
from engine.analysis.subset_bank import Draw
from engine.basics.errors import InvalidInput
from engine.basics.folders import HOME
from engine.basics.options import Options
from engine.external.importing import matched, scoring_of
from engine.external.matching import QUERIES
from engine.external.table import Table
from engine.models.recipe import Recipe
from engine.problems import ModuleProblem, SoftmaxProblem
from engine.problems.variants import trained_on, with_random_weights
from engine.scoring import codes
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from engine.store import external_scores
from engine.store.results import Store
from tests.engine.problems_for_tests import arrays, optimum, problem, sklearn_weights
from tests.engine.single_thread import one_thread  # noqa: F401

LOO = Scoring.of("query_loss", {"kind": "remove"}, {"kind": "retrain"})
SIZES = Sizes(candidates=20, models=6, fractions=(0.5,), queries=2, removed=(0.1,), repeats=2, seeds=2, top=3)
SOME = ("loo", "step", "gradsim", "nearest", "random")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    small = problem(n=40, classes=4, queries=6, candidates=range(5, 25))
    return Case(small, SOME, "query_loss", SIZES, Store(tmp_path_factory.mktemp("store")))


def network(later=0, classes=3, hidden=True, checkpoints=1):
    def build():
        return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, classes)) if hidden else nn.Linear(5, classes)

    recipe = Recipe(epochs=2, batch_size=6, learning_rate=0.2, checkpoints=checkpoints)
    torch.manual_seed(0)
    given = *arrays(n=20, classes=classes), range(12)
    found = ModuleProblem(build(), *given, recipe=recipe, build=build, seed=3, l2=1e-3)
    return trained_on(found, found.examples, Options(), later)


def test_exact_leave_one_out_is_trained_side_by_side_but_the_same(case):
    expected = compute(case.problem, LOO)[0]
    found = METHODS["loo"].scores(case.problem, "query_loss", Options())
    np.testing.assert_allclose(found, expected.oriented, atol=1e-8)
    for name in ("loo", "step", "gradient_norm"):
        at_itself = METHODS[name].at_itself(case.problem, "query_loss", Options())
        whole = METHODS[name].scores(case.problem.at_itself(case.problem.candidates), "query_loss", Options())
        np.testing.assert_allclose(at_itself, np.diagonal(whole), atol=1e-9)


@pytest.mark.parametrize("build", [lambda: problem(n=40, classes=4, queries=6, candidates=range(5, 25)), network])
def test_scores_of_another_program_are_measured_as_ours_are(build, tmp_path, monkeypatch):
    """Our own scores as a file's have their own values where a benchmark asks about the model at hand, and no row where
    it trains others."""
    monkeypatch.setenv(HOME, str(tmp_path))
    small = build()
    step = METHODS["step"].scoring("query_loss")
    held = matched(small, Table(-compute(small, step)[0].oriented), QUERIES)
    external_scores.keep(held)
    theirs = scoring_of(held, step, "theirs", "minus")
    sizes = SIZES.model_copy(update={"candidates": len(small.candidates)})
    request = ScorecardRequest(sizes=sizes, methods=("step",), scores=(theirs,),
                               benchmarks=("lds", "removal", "stability"))
    table = request.of_problem(small).run(small, store=Store(tmp_path)).scorecard
    rows = dict(tuple(table.groupby("method")))
    mine, other = rows["step"], rows[codes.encode(theirs)]
    assert set(other["benchmark"]) == {"lds", "removal"} and set(other["title"]) == {"theirs"}
    first = mine[mine["benchmark"] != "stability"]
    if small.convex:
        np.testing.assert_allclose(first["mean"], other["mean"])
    else:
        assert (other["n_seeds"] == 1).all() and first["measure"].tolist() == other["measure"].tolist()
        np.testing.assert_allclose(other[other["benchmark"] == "removal"]["mean"],
                                   mine[mine["benchmark"] == "removal"]["mean"])
    assert "scores" not in ScorecardRequest(sizes=sizes, methods=("step",)).parameters()


def test_nearest_is_the_distance(case):
    found = METHODS["nearest"].scores(case.problem, "query_loss", Options())
    x, queries = case.problem.x.numpy(), case.problem.queries.numpy()
    assert found[2, 3] == pytest.approx(-((queries[2] - x[8]) ** 2).sum())


def test_a_row_is_at_distance_zero_from_itself():
    """Also among so many, and so far from the origin, that products would lose it."""
    far = problem(n=60, d=40, classes=3, candidates=range(60), spread=100.0)
    own = far.at_itself(far.candidates)
    found = METHODS["nearest"].scores(own, "query_loss", Options())
    assert (np.diagonal(found) == 0.0).all() and (METHODS["nearest"].at_itself(far, "query_loss", Options()) == 0).all()
    expected = -((far.x[:, None] - far.x[None]) ** 2).sum(-1).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_lds_is_that_of_the_models(case):
    measured, told = BENCHMARKS["lds"].measure(case), "50% of the candidates, 75% of the training data"
    found = measured["step"][told]
    kept = Draw(count=6).membership(20)
    scores = METHODS["step"].scores(case.problem, "query_loss", Options())
    models = retrain(case.problem, kept)
    expected = linear_datamodeling_score(scores, models.outcomes("query_loss"), kept)
    np.testing.assert_allclose(found.values, expected[None])
    assert found.subsets == 6 and (measured[CEILING][told].values == 1).all()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lds_of_a_network_has_a_ceiling_and_scores_of_the_other_seed(tmp_path, protocol):
    """Two training seeds: scores of each against the models of its own and of the other one."""
    sizes = SIZES.model_copy(update={"protocol": protocol, "among": "all"})
    found = BENCHMARKS["lds"].measure(Case(network(), ("gradsim",), "query_loss", sizes, Store(tmp_path)))
    draw, measure = Draw(count=6, protocol=protocol, among="all"), "50% of the training data"
    members = draw.members(network())
    outcomes = [retrain_members(network(), members, None, (), protocol, later).outcomes("query_loss")
                for later in (0, 1)]
    scores = [METHODS["gradsim"].scores(network(later), "query_loss", Options()) for later in (0, 1)]
    for name, shift in ((measure, 0), (measure + OTHER, 1)):
        expected = [[spearmanr(members[:, :12] @ row, out).statistic for row, out in zip(
            scores[later], outcomes[(later + shift) % 2], strict=True)] for later in (0, 1)]
        np.testing.assert_allclose(found["gradsim"][name].values, expected, atol=1e-6)
    ceiling = [spearmanr(*pair).statistic for pair in zip(*outcomes, strict=True)]
    np.testing.assert_allclose(found[CEILING][measure].values, [ceiling], atol=1e-6)


def test_the_error_of_the_draw_is_the_jackknifes():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 12))
    means = [np.mean([spearmanr(np.delete(x, one), np.delete(y, one)).statistic for x, y in zip(a, b, strict=True)])
             for one in range(12)]
    assert jackknife_error(a, b) == pytest.approx(np.sqrt(11 / 12 * ((means - np.mean(means)) ** 2).sum()))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_removal_is_by_the_protocol(tmp_path, protocol):
    """Leave-one-out and its ceiling against models trained in a loop."""
    small, sizes = network(), SIZES.model_copy(update={"protocol": protocol})
    found = BENCHMARKS["leave_one_out"].measure(Case(small, ("gradsim",), "query_loss", sizes, Store(tmp_path)))
    members = np.ones((13, 20), bool)
    members[np.arange(1, 13), np.arange(12)] = False
    effects = []
    for later in (0, 1):
        values = retrain_members(small.double(), members, None, (), protocol, later).outcomes("query_loss")
        effects.append(values[:, :1] - values[:, 1:])
    np.testing.assert_allclose(found[CEILING][""], [pearsonr(*pair).statistic for pair in zip(*effects, strict=True)],
                               atol=1e-4)
    scores = METHODS["gradsim"].scores(small, "query_loss", Options())
    np.testing.assert_allclose(found["gradsim"][""], [pearsonr(*pair).statistic for pair in
                                                      zip(scores, effects[0], strict=True)], atol=1e-4)


def test_the_top_is_really_removed(case):
    found = BENCHMARKS["removal"].measure(case)["step"]["top 10%"]
    scores, small = METHODS["step"].scores(case.problem, "query_loss", Options()), case.problem
    for query in range(2):
        left = np.setdiff1d(np.arange(40), small.candidates.numpy()[np.argsort(-scores[query])[:2]])
        logits = small.queries @ sklearn_weights(small, small.x[left], small.y[left])
        label = small.query_labels[query]
        lost = small.query_logits.log_softmax(1)[query, label] - logits.log_softmax(1)[query, label]
        assert found[query] == pytest.approx(float(lost), abs=1e-6)


def test_leave_one_out_correlation_is_pearsons(case):
    found = BENCHMARKS["leave_one_out"].measure(case)
    exact, step = (METHODS[name].scores(case.problem, "query_loss", Options()) for name in ("loo", "step"))
    np.testing.assert_allclose(found["step"][""], [pearsonr(*pair).statistic for pair in zip(step, exact, strict=True)])
    np.testing.assert_allclose(found["loo"][""], 1.0)
    assert np.isnan(pearson(np.ones((1, 4)), np.arange(4.0)[None])).all()


def test_wrong_labels_are_looked_for_by_self_influence(case):
    found = BENCHMARKS["mislabelled"].measure(case)["step"][""]
    small = case.problem
    expected = []
    for seed in range(2):
        y, flags = marked.symmetric_noise(small.y.numpy(), 4, 0.1, seed)
        own = SoftmaxProblem(small.x, y, small.x[5:25], y[5:25], range(5, 25), l2=small.l2, classes=4)
        scores = METHODS["step"].scores(own, "query_loss", Options())
        expected.append(roc_auc_score(flags.noisy[5:25], np.diagonal(scores)))
    np.testing.assert_allclose(found, expected)


def test_subclasses_are_told_from_a_model_that_never_saw_them(case):
    found = BENCHMARKS["subclasses"].measure(case)
    small = case.problem
    nearest = torch.cdist(small.queries, small.x[small.candidates]).argmin(1)
    same = (small.y[small.candidates][nearest] == small.query_labels).double().numpy()
    np.testing.assert_array_equal(found["nearest"][""], np.tile(same, 2))


@pytest.mark.parametrize("classes", [4, 5])
@pytest.mark.parametrize("make", [
    lambda classes: problem(n=40, classes=classes, queries=6), lambda classes: network(classes=classes),
    lambda classes: network(classes=classes, hidden=False)], ids=["softmax", "network", "linear layer"])
def test_a_model_of_subclasses_has_an_output_for_each_pair(make, classes, monkeypatch, case):
    """With an odd number of classes the last stands alone."""
    seen = []
    monkeypatch.setattr(marked, "trained_on", lambda *args, **more: seen.append(trained_on(*args, **more)) or seen[-1])
    asked = make(classes)
    BENCHMARKS["subclasses"].measure(replace(case, problem=asked, methods=("gradsim", "random")))
    assert len(seen) == 2 and all(one.classes == -(-classes // 2) for one in seen)
    assert {tuple(one.query_logits.shape) for one in seen} == {(len(asked.queries), -(-classes // 2))}
    assert all(set(one.y.tolist()) == set(range(one.classes)) for one in seen)
    if asked.convex:
        np.testing.assert_allclose(seen[0].weights, optimum(seen[0]), atol=1e-8)
    else:  # by its recipe, and again
        again = trained_on(seen[0], seen[0].examples, Options())
        torch.testing.assert_close(again.theta, seen[0].theta)


@pytest.mark.parametrize("name", ["shortcut", "mixed"])
def test_planted_examples_are_found_by_average_precision(case, name, monkeypatch):
    seen = []
    monkeypatch.setattr(marked, "auprc", lambda flags, row: seen.append((flags, row)) or average_precision_score(flags,
                                                                                                                row))
    found = BENCHMARKS[name].measure(case)
    assert all(0 < flags.sum() < 20 for flags, _ in seen) and set(found) == set(SOME)
    values = np.concatenate([one[""] for one in found.values()])
    assert np.isnan(values).any() or values.size and np.nanmin(values) > 0
    assert (np.isnan(found["step"][""]) == np.isnan(found["nearest"][""])).all()


def test_a_ranking_is_stable_where_training_has_one_optimum(case):
    found = BENCHMARKS["stability"].measure(case)
    assert (found["step"]["top 3"] == 1).all() and (found["random"]["top 3"] < 1).any()
    own = Case(network(), ("step", "random"), "query_loss", SIZES, case.store)
    found = BENCHMARKS["stability"].measure(own)["step"]["top 3"]
    tops = [np.argsort(-METHODS["step"].scores(network(later), "query_loss", Options()), 1)[:, :3] for later in (0, 1)]
    np.testing.assert_allclose(found, [len(set(a) & set(b)) / 3 for a, b in zip(*tops, strict=True)])


@pytest.mark.parametrize("make", [lambda: problem(n=30), network])
def test_random_weights_are_other_weights_of_the_same_data(make):
    small = make()
    drawn = with_random_weights(small, 7)
    assert not torch.allclose(drawn.theta, small.theta) and torch.equal(drawn.x, small.x)
    assert torch.equal(drawn.theta, with_random_weights(small, 7).theta)
    assert torch.equal(small.theta, make().theta)


def test_randomisation_compares_rankings(case):
    found = BENCHMARKS["randomisation"].measure(case)
    drawn = with_random_weights(case.problem, 1)
    before, after = (METHODS["gradsim"].scores(one, "query_loss", Options()) for one in (case.problem, drawn))
    np.testing.assert_allclose(found["gradsim"][""], [spearmanr(*pair).statistic for pair in
                                                      zip(before, after, strict=True)])
    assert (found["loo"][""] == 1).all() and weights.RANDOMISATION.better == "smaller"


def test_the_card_says_which_question_an_exact_answer_loses_on(case):
    lds = BENCHMARKS["lds"]
    found = {"loo": {"": np.array([0.9, 0.92, 0.91])}, "step": {"": np.array([0.2, 0.21, np.nan])},
             "gradsim": {"": np.array([0.5, 0.51, 0.52])}}
    table = card.rows(lds, found)
    assert list(table.n) == [3, 2, 3] and list(table.n_dropped) == [0, 1, 0]
    [said] = card.verdicts(lds, table, "query_loss")
    assert said == ("Exact step is exact for its own question and scores below Exact leave-one-out: 0.21 ± 0.06 and "
                    "0.91 ± 0.02. The benchmark tests another intervention and training process; whether that "
                    "explains the score was not measured.")
    told = card.rows(lds, {"loo": {"": np.array([0.2, 0.21, 0.2])}, "gradsim": found["loo"]}, Sizes(protocol="subset"))
    [said] = card.verdicts(lds, told, "query_loss")
    assert said.endswith("models of the protocol `subset` instead of the recorded run; whether that explains the "
                         "score was not measured.")
    [said, _] = card.verdicts(BENCHMARKS["subclasses"], card.rows(BENCHMARKS["subclasses"], {
        **found, "nearest": {"": np.array([0.99, 0.99, 0.99])}}), "query_loss")
    assert "Similarity within a class is the target here" in said
    assert not card.verdicts(BENCHMARKS["randomisation"], card.rows(BENCHMARKS["randomisation"], {
        "step": {"": np.array([0.5])}, "random": {"": np.array([0.0])}}), "query_loss")


def test_every_benchmark_says_what_it_asks_and_controls_are_always_there():
    assert all(one.asks is not None or one.sought for one in BENCHMARKS.values())
    for kind in (SoftmaxProblem, ModuleProblem):
        assert set(CONTROLS) - {"bm25"} <= set(fitting(kind)) and {"loo", "step"} <= set(fitting(kind))


def test_how_often_a_benchmark_trains_is_known_beforehand():
    found = {name: one.trainings(SIZES, 3) for name, one in BENCHMARKS.items()}
    assert found == {"lds": 13, "removal": 6, "leave_one_out": 42, "mislabelled": 2, "subclasses": 2, "shortcut": 2,
                     "mixed": 2, "planted": 0, "tail_patch": 0, "stability": 1, "randomisation": 0}


def test_marks_that_nobody_carries_are_refused(case):
    few = Case(problem(n=12, classes=3, queries=2, candidates=[0]), ("step",), "query_loss", SIZES, case.store)
    with pytest.raises(InvalidInput, match="use more candidates"):
        BENCHMARKS["mixed"].measure(few)
    with pytest.raises(InvalidInput, match="at least four classes"):
        BENCHMARKS["subclasses"].measure(few)


def test_a_tail_patch_is_a_step_on_each_of_the_top_and_the_change_of_the_probability(case):
    found, problem = BENCHMARKS["tail_patch"].measure(case), case.problem
    before = problem.query_logits.softmax(1)[torch.arange(6), problem.query_labels]
    weights, own = problem.weights, case.scores(problem, Options())
    for name in SOME:
        for query in range(6):
            changes = []
            for k in np.argsort(-own[name][query])[:SIZES.top]:
                leaf = weights.clone().requires_grad_(True)
                row = problem.candidates[int(k)]
                loss = torch.nn.functional.cross_entropy((problem.x[row] @ leaf)[None], problem.y[row][None])
                stepped = weights - 0.01 * torch.autograd.grad(loss, leaf)[0]
                after = (problem.queries[query] @ stepped).softmax(0)[problem.query_labels[query]]
                changes.append((after - before[query]).item())
            assert found[name]["top 3"][query] == pytest.approx(np.mean(changes), abs=1e-10)
    asked = BENCHMARKS["tail_patch"].asks("query_loss")
    best = Case(problem, (codes.encode(asked),), "query_loss", SIZES, case.store)
    [exact] = BENCHMARKS["tail_patch"].measure(best).values()
    assert all((exact["top 3"] >= found[name]["top 3"] - 1e-12).all() for name in SOME)


def test_a_method_that_no_card_lists_is_measured_where_it_is_named():
    check(SoftmaxProblem, ["knn_shapley_inputs;neighbours=5"])
    assert card_method("knn_shapley_inputs;neighbours=5").title == "KNN-Shapley (inputs), neighbours 5"
    for kind, name in ((SoftmaxProblem, "knn_shapley"), (ModuleProblem, "text_embedding"),
                       (ModuleProblem, "influence_function")):
        with pytest.raises(InvalidInput, match=f"`{name}` is not defined for"):
            check(kind, [name])


def test_two_settings_of_one_method_are_two_rows(tmp_path):
    names = ("trak", "trak;dimension=8;ridge=1.0", "gradsim")
    own = Case(network(), names, "query_loss", SIZES, Store(tmp_path))
    table = card.rows(BENCHMARKS["randomisation"], BENCHMARKS["randomisation"].measure(own), SIZES)
    titles = dict(zip(table["method"], table["title"], strict=True))
    assert titles == {"trak": "TRAK", names[1]: "TRAK, dimension 8, ridge 1", "gradsim": "GradSim"}
    values = table.set_index("method")["mean"]
    assert values["trak"] != values[names[1]]
    assert card_method("trak;dimension=512") is METHODS["trak"], "a default is no setting"
    check(ModuleProblem, names)


@pytest.mark.parametrize(("name", "told"), [("gradsim;ridge=1", "no settings"), ("nearest;ridge=1", "has no settings"),
                                            ("trak;width=1", "known: `dimension`"), ("nothing;a=1", "no scorecard")])
def test_settings_that_a_method_does_not_have_are_refused(name, told):
    with pytest.raises(InvalidInput, match=told):
        check(ModuleProblem, [name])
