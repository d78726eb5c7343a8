"""Chance, gradient norm and BM25: their formulas, and that they imply no specification and say so."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch

from engine.analysis.explanation import explain
from engine.analysis.self_influence import self_influence
from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.estimators import ESTIMATORS
from engine.estimators.knn_shapley import shapley_values
from engine.gradients.per_example import loss_gradients
from engine.models.pretrained.texts import text_features
from engine.question.specification import AXES
from engine.scoring.codes import decode, encode
from engine.scoring.compute import compute
from engine.scoring.identities import relation
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring
from engine.scoring.verdict import verdict
from tests.engine import problems_for_tests as naive
from tests.engine.gradients.networks import problem as network
from tests.truth import language_cases as cases

BASELINES = ("gradient_norm", "bm25", "random", "text_embedding", "knn_shapley", "knn_shapley_inputs")
PROBLEMS = {"softmax": lambda: naive.problem(n=20, candidates=[4, 2, 7], intercept=True),
            "network": lambda: network("positions"), "language model": cases.problem}
PROBLEM_KINDS = ("softmax", "module", "causal")
REMOVED = ("query_loss", {"kind": "remove"}, {"kind": "reoptimize"})


def baseline(name):
    return Scoring.parse({"estimator": name})


def scored(problem, name, options=None):
    return compute(problem, baseline(name), options)[0]


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_length_of_a_gradient(kind):
    problem = PROBLEMS[kind]()
    if kind == "softmax":
        expected = []
        for row in problem.candidates:
            leaf = problem.weights.clone().requires_grad_(True)
            loss = torch.nn.functional.cross_entropy((problem.x[row] @ leaf)[None], problem.y[row][None])
            expected.append(torch.autograd.grad(loss, leaf)[0].norm().item())
    else:
        expected = loss_gradients(problem, problem.candidates).norm(dim=1).tolist()
    found = scored(problem, "gradient_norm")
    np.testing.assert_allclose(found.values, np.tile(expected, (len(problem.queries), 1)), rtol=1e-9)
    assert found.known.all()


@pytest.mark.parametrize("kind", PROBLEMS)
def test_chance_is_seeded_and_does_not_depend_on_who_is_scored(kind):
    problem = PROBLEMS[kind]()
    first, again, other = (scored(problem, "random", Options(seed=seed)).values for seed in (0, 0, 1))
    assert np.array_equal(first, again) and not np.isclose(first, other).any()
    one = scored(problem.with_candidates(problem.candidates[1:2]), "random").values
    assert np.array_equal(first[:, 1:2], one)
    assert len(np.unique(first)) == first.size


def test_chance_is_normal():
    problem = naive.problem(n=300, queries=40)
    values = scored(problem, "random").values
    assert abs(values.mean()) < 0.05 and abs(values.std() - 1) < 0.05
    assert np.abs(np.corrcoef(values)[np.triu_indices(40, 1)]).max() < 0.3


def test_bm25_is_the_textbook_formula():
    """Sum over the query's words, one after the other, of idf times the saturated count."""
    problem = cases.problem()
    texts = [f"{one.prompt} {one.response}".split() for one in cases.TRAIN]
    mean = sum(map(len, texts)) / len(texts)
    expected = np.zeros((len(cases.QUERIES), len(cases.CANDIDATES)))
    for q, query in enumerate(cases.QUERIES):
        for k, row in enumerate(cases.CANDIDATES):
            for word in f"{query.prompt} {query.response}".split():
                count, holding = texts[row].count(word), sum(word in text for text in texts)
                idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
                expected[q, k] += idf * count * 2.5 / (count + 1.5 * (1 - 0.75 + 0.75 * len(texts[row]) / mean))
    np.testing.assert_allclose(scored(problem, "bm25").values, expected, rtol=1e-12)
    with pytest.raises(InvalidInput, match="available only as tokens"):
        scored(cases.problem(texts=None), "bm25")


def test_bm25_reads_texts_alone():
    assert [kind for kind in ("softmax", "module", "causal") if NAMED["bm25"].answers(kind)] == ["causal"]
    with pytest.raises(InvalidInput, match="does not target|not defined for this kind of model|another estimator"):
        scored(naive.problem(n=20), "bm25")


def test_text_embeddings_are_cosines_of_an_encoder_that_is_not_the_model():
    problem = cases.problem()
    queries, records = (text_features([f"{one.prompt}\n{one.response}" for one in own]).astype(float)
                        for own in (cases.QUERIES, [cases.TRAIN[row] for row in cases.CANDIDATES]))
    expected = [[q @ k / np.linalg.norm(q) / np.linalg.norm(k) for k in records] for q in queries]
    np.testing.assert_allclose(scored(problem, "text_embedding").values, expected, rtol=1e-6)


@pytest.mark.parametrize("neighbours", [1, 3, 10])
def test_knn_shapley_is_the_shapley_value_over_all_subsets(neighbours):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 2)), np.array([0, 1, 1, 0, 2, 1, 0, 2])
    queries, wanted = rng.normal(size=(3, 2)), np.array([1, 0, 2])

    def worth(members, query, label):
        nearest = sorted(members, key=lambda k: np.linalg.norm(x[k] - query))[:neighbours]
        return sum(y[k] == label for k in nearest) / neighbours

    expected = np.zeros((3, 8))
    for k in range(8):
        others = [j for j in range(8) if j != k]
        for size in range(8):
            for members in combinations(others, size):
                expected[:, k] += [(worth([*members, k], *one) - worth(members, *one)) / (8 * math.comb(7, size))
                                   for one in zip(queries, wanted, strict=True)]
    np.testing.assert_allclose(shapley_values(x, y, queries, wanted, neighbours), expected, atol=1e-12)


def test_knn_shapley_values_candidates_among_all_training_examples():
    problem = network("positions")
    for name, read in (("knn_shapley_inputs", lambda x: x.flatten(1)), ("knn_shapley", problem.representations)):
        whole = shapley_values(read(problem.x).numpy(), problem.y.numpy(), read(problem.queries).numpy(),
                               problem.query_labels.numpy(), 2)
        few = scored(problem.with_candidates([3, 1]), f"{name};neighbours=2")
        np.testing.assert_allclose(few.values, whole[:, [3, 1]], atol=1e-12)
        assert few.scoring == Scoring.parse({"estimator": {"name": name, "neighbours": 2}})
    assert [kind for kind in PROBLEM_KINDS if NAMED["knn_shapley"].answers(kind)] == ["module"]
    assert [kind for kind in PROBLEM_KINDS if NAMED["knn_shapley_inputs"].answers(kind)] == ["softmax", "module"]


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_is_its_name_alone(name):
    scoring = baseline(name)
    assert scoring == Scoring.of(*REMOVED, name) == decode(name) and encode(scoring) == name
    assert scoring.canonical() == scoring.model_dump() == {"estimator": name}
    assert Scoring.read(scoring.canonical()) == scoring
    assert scoring.orientation == 1 and not scoring.exact
    assert scoring == NAMED[name].implied() and not NAMED[name].implies
    assert name not in {other.name for other in ESTIMATORS.values() if other.implies}


@pytest.mark.parametrize("name", BASELINES)
def test_it_says_that_it_implies_no_specification(name):
    scoring, asking = baseline(name), Scoring.of(*REMOVED)
    assert "implies no specification" in scoring.question and "?" not in scoring.question
    assert [scoring.axis(axis) for axis in AXES] == ["none"] * 3 and scoring.title.startswith("no specification · ")
    assert scoring.differing_axes(asking) == asking.differing_axes(scoring) == AXES
    for pair in ((scoring, asking), (asking, scoring)):
        found = verdict(*pair)
        assert found.code == "no specification" and "implies no specification" in found.headline
        assert "neither approximation error nor specification mismatch" in found.reason
        assert relation(*pair) is None
    assert verdict(scoring, scoring).kind == "same scores"
    other = baseline(next(one for one in BASELINES if one != name))
    assert scoring.differing_axes(other) == () and "imply no specification" in verdict(scoring, other).headline


def test_what_asks_for_a_specification_refuses_it():
    problem = naive.problem(n=20, candidates=[4, 2, 7])
    with pytest.raises(InvalidInput, match="`random` implies no specification"):
        explain(problem, baseline("random"), Scoring.of(*REMOVED))
    with pytest.raises(InvalidInput, match="`gradient norm` implies no specification"):
        self_influence(problem, baseline("gradient_norm"))


def test_it_stands_beside_answers_in_one_computation():
    problem = naive.problem(n=20, candidates=[4, 2, 7])
    found = compute(problem, [Scoring.of(*REMOVED), baseline("random"), baseline("gradient_norm")])
    assert [scores.provenance["spec"] for scores in found[1:]] == [{"estimator": "random"},
                                                                    {"estimator": "gradient_norm"}]
    assert "implies no specification" in found[1].provenance["question"]
