"""Behaviors, steps, trajectories, similarities and retraining of a language model against loops over records."""

from functools import lru_cache

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.exact.decomposition import decompose
from engine.exact.path_integral import path_integral
from engine.gradients.per_example import loss_gradients
from engine.models.altered import Altered
from engine.models.causal.reader import TokenReader
from engine.problems import CausalProblem
from engine.question.behaviors import BEHAVIORS as TOKENS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.truth import checks
from tests.truth import language_cases as cases
from tests.truth.checks import same
from tests.truth.naive_language import BEHAVIORS, NaiveLanguage

ADD, ETA = {"kind": "add_occurrence"}, 0.1
PROCESSES = {"one_step": {"kind": "one_step", "eta": ETA}, "unrolled": {"kind": "unrolled", "eta": ETA, "steps": 3},
             "trajectory": {"kind": "trajectory", "eta": ETA, "checkpoints": 2}}
INTERVENTIONS = {"remove": {"kind": "remove"}, "remove over n": {"kind": "remove", "normalization": "n"},
                 "upweight": {"kind": "upweight", "alpha": 0.05}}
RANKS, ANSWERS = [*cases.RANKS], ["answer_logit", "answer_margin"]

PRECISIONS = ("float32", "float64")


def referred(problem):
    return NaiveLanguage(problem, cases.TRAIN, cases.QUERIES, cases.WORDS, cases.SCALING)


@pytest.fixture(scope="module", params=[(rank, precision) for rank in RANKS for precision in PRECISIONS], ids="-".join)
def case(request):
    rank, precision = request.param
    problem = cases.problem(rank, precision)
    return problem, referred(problem), precision


def scored(problem, intervention, process, estimator="exact", behaviors=BEHAVIORS):
    return checks.scored(problem, intervention, process, estimator, behaviors)


def points(problem, naive, kind):
    """(θ, step size, steps) of every part of a process."""
    return {"one_step": [(naive.theta, ETA, 1)], "unrolled": [(naive.theta, ETA, 3)],
            "trajectory": [(point.theta.double(), ETA * point.learning_rate / 0.2, 1)
                           for point in problem.checkpoints]}[kind]


def test_behaviors(case):
    problem, naive, precision = case
    expected = torch.tensor([[naive.behavior(name, q, naive.theta).item() for name in BEHAVIORS]
                             for q in range(len(naive.queries))], dtype=torch.float64)
    tolerance = 1e-13 if precision == "float64" else 1e-5
    torch.testing.assert_close(problem.query_logits.double(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", PROCESSES)
def test_finite_steps(case, kind):
    problem, naive, _ = case
    for name, scores in scored(problem, ADD, PROCESSES[kind]).items():
        same(scores, sum(naive.differences(name, [naive.steps(k, eta, count, theta) for k in naive.candidates], theta)
                         for theta, eta, count in points(problem, naive, kind)))


@pytest.mark.parametrize("kind", ["one_step", "trajectory"])
def test_first_order_terms(case, kind):
    problem, naive, precision = case
    tolerance = 1e-9 if precision == "float64" else 1e-4
    for name, scores in scored(problem, ADD, PROCESSES[kind], "first_order").items():
        expected = sum(naive.directional(name, [-eta * naive.gradient(lambda at, k=k: naive.loss(k, at), theta)
                                                for k in naive.candidates], theta)
                       for theta, eta, _ in points(problem, naive, kind))
        np.testing.assert_allclose(scores.values, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_similarities(case):
    """The cosine of gradients; of what the head reads where the answer is predicted, the cosine and the inner product:
    that is what one step of the answer's row of the head on −f_w(x_k) does to its logit."""
    problem, naive, precision = case
    gradients = torch.stack([naive.gradient(lambda at, k=k: naive.loss(k, at)) for k in naive.candidates])
    tolerance = 1e-8 if precision == "float64" else 1e-3
    for name, scores in scored(problem, ADD, PROCESSES["one_step"], "cosine").items():
        slopes = torch.stack([naive.gradient(lambda at, q=q: naive.behavior(name, q, at))  # noqa: B023
                              for q in range(len(naive.queries))])
        expected = -ETA * torch.cosine_similarity(slopes[:, None], gradients[None], dim=-1)
        np.testing.assert_allclose(scores.values, expected.numpy(), rtol=0, atol=tolerance)
    asked, given = (torch.stack([naive.representation(told) for told in part])
                    for part in (naive.queries, [naive.x[k] for k in naive.candidates]))
    for estimator, expected in (("cosine", torch.cosine_similarity(asked[:, None], given[None], dim=-1)),
                                ("exact", asked @ given.T)):
        for found in scored(problem, {"kind": "auxiliary"}, PROCESSES["one_step"], estimator, ANSWERS).values():
            np.testing.assert_allclose(found.values, ETA * expected.numpy(), rtol=0,
                                       atol=1e-12 if precision == "float64" else 1e-5)
    with pytest.raises(InvalidInput, match="logit of the stated answer alone"):
        scored(problem, {"kind": "auxiliary"}, PROCESSES["one_step"], "cosine", ["response_loss"])


@lru_cache
def trained(rank, name, k=None):
    """θ of a plain loop without an intervention, or with it on record k."""
    problem = cases.problem(rank)
    naive = referred(problem)
    weight = 1.0 + naive.n * 0.05 if name == "upweight" else 0.0
    return naive.adamw(problem.build, problem.recipe, problem.seed,
                       [weight if j == k else 1.0 for j in range(naive.n)], "all" if name == "remove over n" else None)


@pytest.mark.parametrize(("name", "precision"), [
    ("remove", "float64"), pytest.param("remove over n", "float64", marks=pytest.mark.slow),
    pytest.param("upweight", "float64", marks=pytest.mark.slow),
    pytest.param("remove", "float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("rank", RANKS)
def test_retraining(rank, name, precision):
    problem = cases.problem(rank, precision)
    naive = referred(problem)
    found = scored(problem, INTERVENTIONS[name], {"kind": "retrain", "seeds": 1})
    moved = [trained(rank, name, k) for k in naive.candidates]
    for behavior, scores in found.items():
        same(scores, naive.differences(behavior, moved, trained(rank, "")))


@pytest.mark.parametrize("which", RANKS)
def test_a_group_is_removed(which):
    """Three records at once, two of which are a batch of their own in one epoch, so that steps are left out."""
    problem = cases.problem(which)
    naive, group = referred(problem), [0, 3, 5]
    weights = [0.0 if k in group else 1.0 for k in range(problem.n)]
    theta = naive.adamw(problem.build, problem.recipe, problem.seed, weights)
    expected = torch.tensor([[naive.behavior(name, q, theta).item() for name in BEHAVIORS]
                             for q in range(len(naive.queries))], dtype=torch.float64)
    found = problem.retrained_outputs(Altered(torch.tensor([weights])))[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def test_the_three_factors_of_a_score():
    """−s_Bᵀ K s_ℓ is the first-order term of a step, with s_ℓ minus the response's own column."""
    problem = cases.problem()
    naive = referred(problem)
    for name in BEHAVIORS:
        expected = naive.directional(name, [-ETA * naive.gradient(lambda at: naive.loss(4, at))])
        for query in range(len(cases.QUERIES)):
            found = decompose(problem, query, 4, TOKENS[name], eta=ETA)
            assert found.score == pytest.approx(expected[query, 0], rel=1e-9)
            assert found.training_signal.tolist() == [-1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.slow
def test_both_sides_of_the_path_integral():
    """The end of the path is the optimum of the upweighted objective, by Newton's method with dense Hessians."""
    problem = cases.problem("all parameters", l2=1.0, parameters=r"layers\.1\.mlp\.down_proj")
    naive, alpha = referred(problem), 0.1
    ends = []
    for weight in (0.0, alpha):
        def objective(at, weight=weight):
            return naive.objective(at) + weight * naive.loss(2, at)

        theta = naive.theta
        for _ in range(8):
            theta = theta - torch.linalg.solve(naive.hessian(objective, theta), naive.gradient(objective, theta))
        assert naive.gradient(objective, theta).norm() < 1e-12
        ends.append(theta)
    for name in ANSWERS:
        found = path_integral(problem, 2, alpha, TOKENS[name])
        expected = naive.differences(name, ends[1:], ends[0])[:, 0]
        for side in (found.integral, found.difference):
            np.testing.assert_allclose(side.numpy(), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("which", RANKS)
def test_padding_does_not_matter(which):
    """A record alone and among longer ones: the same outputs, representation and gradient."""
    whole = cases.problem(which)
    for row in (0, 5, 6):
        record = cases.TRAIN[row]
        packing, (x,) = cases.packed([record])
        alone = CausalProblem(TokenReader(whole.reader.model, packing), x, None, x, None, dtype="float64",
                              parameters=whole.network.selection)
        for read in (lambda problem, rows: problem.outputs(problem.x[rows]), loss_gradients,
                     lambda problem, rows: problem.representations(problem.x[rows])):
            found, expected = read(whole, torch.tensor([row])), read(alone, torch.tensor([0]))
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("query", "lacking"), [
    (cases.record("is big", "it is red", ""), ["answer_logit", "answer_margin", "answer_log_probability"]),
    (cases.record("is big", "", "b"), ["explanation_loss"]), (cases.record("is big", "", "b", "b"),
                                                              ["explanation_loss", "answer_margin"])])
def test_what_a_query_lacks_is_said_in_one_sentence(query, lacking):
    problem = cases.problem(queries=(*cases.QUERIES, query))
    for name in BEHAVIORS:
        if name not in lacking:
            problem.check_behavior(Scoring.of(name, ADD, PROCESSES["one_step"]).readout)
            continue
        with pytest.raises(InvalidInput, match=f"`{name}`.*query 3 .*choose") as refused:
            compute(problem, Scoring.of(name, ADD, PROCESSES["one_step"]))
        assert str(refused.value).count(". ") == 0
