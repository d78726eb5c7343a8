"""LESS and TRAK on a language model, by their formulas, from gradients of single records by plain autograd."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.estimators import trak, trak_fisher
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import LocalResponse, Retrain
from engine.scoring.compute import compute
from engine.scoring.named import NAMED
from engine.scoring.scoring import Scoring
from tests.truth import language_cases as cases
from tests.truth.naive_language import BEHAVIORS as BY_LOOP
from tests.truth.naive_language import NaiveLanguage

ETA, STEPS = 0.1, 7


@pytest.fixture(scope="module")
def case():
    problem = cases.problem("adapters", "float64")
    torch.manual_seed(3)
    problem.checkpoints = tuple(
        replace(point, first=0.1 * torch.randn_like(point.theta), second=torch.rand_like(point.theta), steps=STEPS)
        for point in problem.checkpoints)
    return problem, NaiveLanguage(problem, cases.TRAIN, cases.QUERIES, cases.WORDS, cases.SCALING)


def behavior_gradients(naive, name, theta):
    return torch.stack([naive.gradient(lambda at, q=q: naive.behavior(name, q, at), theta)
                        for q in range(len(naive.queries))])


def loss_gradients(naive, rows, theta):
    return torch.stack([naive.gradient(lambda at, k=k: naive.loss(k, at), theta) for k in rows])


def adam(gradient, point):
    """AdamW's update at step STEPS + 1 (Kingma and Ba 2015), with the usual constants."""
    first = (0.9 * point.first + 0.1 * gradient) / (1 - 0.9 ** (STEPS + 1))
    second = (0.999 * point.second + 0.001 * gradient**2) / (1 - 0.999 ** (STEPS + 1))
    return first / (second.sqrt() + 1e-8)


@pytest.mark.parametrize("name", BY_LOOP)
def test_less_is_the_cosine_with_adams_updates(case, name):
    problem, naive = case
    process = {"kind": "trajectory", "eta": ETA, "checkpoints": 2}
    found = compute(problem, Scoring.of(name, {"kind": "add_occurrence"}, process, "less"))[0].values
    top = max(point.learning_rate for point in problem.checkpoints)
    expected = 0.0
    for point in problem.checkpoints:
        moved = torch.stack([adam(own, point) for own in loss_gradients(naive, naive.candidates, point.theta)])
        cosine = torch.cosine_similarity(behavior_gradients(naive, name, point.theta)[:, None], moved[None], dim=-1)
        expected = expected - ETA * point.learning_rate / top * cosine
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", BY_LOOP)
def test_trak_is_leave_one_out_of_its_regression(case, name):
    problem, naive = case
    gradients = loss_gradients(naive, range(naive.n), naive.theta)
    p = torch.stack([(-naive.loss(k, naive.theta)).exp() for k in range(naive.n)]).detach()
    phi = -gradients / (1 - p)[:, None]
    damping = trak.RIDGE * phi.square().sum() / min(phi.shape)
    inverse = torch.linalg.inv(phi.T @ phi + damping * torch.eye(phi.shape[1], dtype=phi.dtype))
    rows = torch.tensor(naive.candidates)
    expected = -behavior_gradients(naive, name, naive.theta) @ inverse @ (phi[rows] * (1 - p[rows])[:, None]).T
    response = trak.left_out(problem, Retrain(), problem.candidates, Options(), projector="identity")[0]
    found = response.scores(BEHAVIORS[name], problem.query_labels)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9 * expected.abs().max().item())


@pytest.mark.parametrize("name", BY_LOOP)
def test_less_of_the_authors_code_divides_both_sides_by_the_root_of_the_last_second_moment(case, name):
    problem, naive = case
    found = compute(problem, NAMED["less_final"].implied(name, ETA))[0].values
    last = problem.checkpoints[-1]
    root = last.second.sqrt() + 1e-8
    queries = behavior_gradients(naive, name, last.theta) / root
    expected = -ETA * queries @ (loss_gradients(naive, naive.candidates, last.theta) / root).T
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-8, atol=1e-10 * expected.abs().max().item())


@pytest.mark.parametrize("mean_square", [None, 40.0])
def test_trak_of_the_authors_code_is_an_influence_function_by_the_empirical_fisher(case, mean_square):
    """Its ridge is 0.01 where gradients are small, and a fraction of their mean squared coordinate where not."""
    problem, naive = case
    name, gradients = "answer_margin", loss_gradients(naive, range(naive.n), naive.theta)
    if mean_square:
        scale = (mean_square / gradients.square().mean()).sqrt()
        fisher = (scale * gradients).T @ (scale * gradients) / naive.n
        rows = torch.randn(3, gradients.shape[1], dtype=gradients.dtype)
        ridge = 0.01 * mean_square * torch.eye(len(fisher), dtype=fisher.dtype)
        torch.testing.assert_close(trak_fisher.fisher_inverse(scale * gradients, 0.01)(rows),
                                   rows @ torch.linalg.inv(fisher + ridge), rtol=1e-8, atol=1e-12)
        return
    assert gradients.square().mean() < 1
    inverse = torch.linalg.inv(gradients.T @ gradients / naive.n + 0.01 * torch.eye(gradients.shape[1]))
    expected = -behavior_gradients(naive, name, naive.theta) @ inverse @ gradients[naive.candidates].T
    term = trak_fisher.response(problem, LocalResponse(), problem.candidates, Options(), projector="identity")[0]
    found = term.scores(BEHAVIORS[name], problem.query_labels)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9 * expected.abs().max().item())


@pytest.mark.parametrize("weights", ["recipe", "step"])
@pytest.mark.parametrize("exact", [True, False])
def test_a_trajectory_visits_chosen_checkpoints_with_either_weight(weights, exact):
    """Two epochs of seven steps: 0.33 ends with step 5, 0.66 with step 10; weights are sums of rates, or one rate."""
    recipe = cases.recipe("adapters", batch=1, checkpoints_at="0.33, 0.66, 1")
    problem = cases.problem("adapters", "float64")
    problem.recipe, own = recipe, problem.checkpoints[:1]
    torch.manual_seed(2)
    total, ends = 2 * recipe.per_epoch(len(problem.x)), [5, 10, 14]
    assert total == 14 and [step + 1 for step in recipe.checkpoint_steps(7)] == ends
    rates = [recipe.rate(step, total) for step in range(total)]
    problem.checkpoints = tuple(replace(own[0], theta=own[0].theta + 0.1 * torch.randn_like(own[0].theta),
                                        learning_rate=rate) for rate in recipe.checkpoint_rates(7))
    process = {"kind": "trajectory", "eta": ETA, "fractions": "0.33,0.66", "weights": weights}
    scoring = Scoring.of("answer_margin", {"kind": "add_occurrence"}, process, "exact" if exact else "first_order")
    sums = [sum(rates[:5]), sum(rates[5:10]), sum(rates[10:])]
    each = sums if weights == "recipe" else [rates[4], rates[9]]
    naive = NaiveLanguage(problem, cases.TRAIN, cases.QUERIES, cases.WORDS, cases.SCALING)
    expected = np.zeros((len(cases.QUERIES), len(naive.candidates)))
    for point, weight in zip(problem.checkpoints[:2], each, strict=False):
        step = ETA * weight / max(each)
        for column, k in enumerate(naive.candidates):
            move = -step * naive.gradient(lambda at, k=k: naive.loss(k, at), point.theta)
            for q in range(len(cases.QUERIES)):
                def value(at, q=q):
                    return naive.behavior("answer_margin", q, at)

                expected[q, column] += (value(point.theta + move) - value(point.theta) if exact else
                                        naive.gradient(value, point.theta) @ move).item()
    np.testing.assert_allclose(compute(problem, scoring)[0].values, expected, rtol=1e-6, atol=1e-9)
    with pytest.raises(InvalidInput, match="stored no checkpoint after step 7 of 14; train with `checkpoints_at` 0.5"):
        compute(problem, Scoring.of("answer_margin", {"kind": "add_occurrence"}, {**process, "fractions": "0.5"}))


def test_less_needs_the_moments_of_adam():
    process = {"kind": "trajectory", "eta": ETA, "checkpoints": 2}
    with pytest.raises(InvalidInput, match="reads the moments of Adam, which this model's training did not store"):
        compute(cases.problem(), Scoring.of("answer_logit", {"kind": "add_occurrence"}, process, "less"))


def head_gradient(naive, told, value):
    """∂ value(logits)/∂W of the head alone, whose input does not move."""
    states = naive.passed(told, naive.theta)[0].detach()
    head = naive.fixed[f"{naive.prefix}model.embed_tokens.weight"].clone().requires_grad_(True)
    return torch.autograd.grad(value(states @ head.T, told), head)[0].flatten()


@pytest.mark.parametrize("name", BY_LOOP)
def test_representer_points_are_a_step_of_the_head_alone(case, name):
    problem, naive = case
    found = compute(problem, Scoring.of(name, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": ETA},
                                        "representer"))[0].values
    asked = torch.stack([head_gradient(naive, told, BY_LOOP[name]) for told in naive.queries])
    given = torch.stack([head_gradient(naive, naive.x[k], BY_LOOP["response_loss"]) for k in naive.candidates])
    expected = ETA * asked @ given.T
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=1e-10 * expected.abs().max().item())


@pytest.mark.parametrize("name", ["answer_logit", "answer_margin"])
def test_the_tangent_kernel_raises_the_querys_answer_at_the_record(case, name):
    """One candidate states no answer: there the logit is read where its response begins."""
    problem, naive = case
    problem = problem.with_candidates(torch.tensor([4, 5, 6]))
    found = compute(problem, Scoring.of(name, {"kind": "auxiliary"}, {"kind": "one_step", "eta": ETA}, "ntk"))[0].values
    expected = np.empty_like(found)
    for q, told in enumerate(naive.queries):
        asked, token = behavior_gradients(naive, name, naive.theta)[q], told["tokens"][told["answer"]]
        for place, k in enumerate((4, 5, 6)):
            at = naive.x[k]["response"][0] if naive.x[k]["answer"] is None else naive.x[k]["answer"]
            slope = naive.gradient(lambda theta, k=k, at=at, token=token: naive.passed(
                naive.x[k], theta)[1][at - 1][token])
            expected[q, place] = ETA * asked @ slope
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_a_tangent_kernel_has_no_response_to_raise(case):
    with pytest.raises(InvalidInput, match="logit of the stated answer alone"):
        compute(case[0], Scoring.of("response_loss", {"kind": "auxiliary"}, {"kind": "one_step", "eta": ETA}, "ntk"))
