"""LESS and TRAK on a language model, by their formulas, from gradients of single records by plain autograd."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.estimators import trak
from engine.question.behaviors import BEHAVIORS
from engine.question.processes import Retrain
from engine.scoring.compute import compute
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


def test_less_needs_the_moments_of_adam():
    process = {"kind": "trajectory", "eta": ETA, "checkpoints": 2}
    with pytest.raises(InvalidInput, match="reads the moments of Adam, which this model's training did not keep"):
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
