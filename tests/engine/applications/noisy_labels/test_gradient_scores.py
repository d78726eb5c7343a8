"""GradSim, TracIn and LiSSA against a naive loop over examples, one backward pass each, through plain autograd."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from engine.applications.noisy_labels.pairs import BEHAVIOR_TITLES, Pair
from engine.applications.noisy_labels.scoring import gradient_scores, suspicions
from engine.basics.options import Options
from engine.curvature import Hessian, lissa
from engine.curvature.dense import dense
from engine.gradients import directional
from engine.models.losses import differentiable
from engine.question.behaviors import BEHAVIORS
from engine.scoring.pooled import query_slopes
from tests.engine.applications.noisy_labels.sources import model

CASES = [{"model": "cnn"}, {"model": "mlp"}, {"model": "linear"},
         {"model": "tiny_residual", "n_train": 60, "selection": "block|head"}]


def naive(trained, state, behavior):
    """(∇B̄, [∇ℓ_k]) at a state of the whole network, one example at a time, over the selected parameters."""
    module = copy.deepcopy(trained.module)
    module.load_state_dict(state)
    module.eval()
    own = dict(module.named_parameters())
    chosen = [own[name].requires_grad_() for name in trained.problem.network.names]

    def gradient(value):
        return torch.cat([part.flatten() for part in torch.autograd.grad(value, chosen)])

    evidence = trained.evidence
    x, y = torch.tensor(evidence.x), torch.tensor(evidence.y)
    losses = torch.stack([gradient(cross_entropy(module(x[k:k + 1]), y[k:k + 1])) for k in range(len(y))])
    trusted = torch.tensor(evidence.trusted_x), torch.tensor(evidence.trusted_y)
    return gradient(BEHAVIORS[behavior].value(module(trusted[0]), trusted[1]).mean()), losses


def naive_lissa(trained, rhs, seed=0):
    """The recursion of `lissa` with the paper's settings, by products through plain autograd; σ is read off `lissa`."""
    module = copy.deepcopy(trained.module).eval()
    own = dict(module.named_parameters())
    chosen = [own[name].requires_grad_() for name in trained.problem.network.names]
    x, y = torch.tensor(trained.evidence.x), torch.tensor(trained.evidence.y)

    def product(rows, vector):
        loss = cross_entropy(module(x[rows]), y[rows]) + trained.problem.l2 / 2 * sum((p**2).sum() for p in chosen)
        first = torch.cat([part.flatten() for part in torch.autograd.grad(loss, chosen, create_graph=True)])
        return torch.cat([part.flatten() for part in torch.autograd.grad(first @ vector, chosen)])

    generator = torch.Generator().manual_seed(seed)
    batches = [torch.randperm(len(y), generator=generator)[:64] for _ in range(50)]
    hessian = Hessian(trained.problem, options=Options(seed=seed))
    sigma = 0.05 + lissa.largest_curvature(hessian, batches)
    iterates = [rhs]
    for rows in batches:
        iterates.append(rhs + iterates[-1] - (product(rows, iterates[-1]) + 0.05 * iterates[-1]) / sigma)
    return sum(iterates[-20:]) / (20 * sigma)


def naive_lissa_by_power_steps(trained, rhs, seed=0):
    """v ← v + (b − (H + 0.05)v)/s from v = 0, s = max(1, 2.2 (0.05 + the largest ‖Hv‖ of five power steps))."""
    problem = trained.problem
    generator = torch.Generator().manual_seed(seed)
    batches = [torch.randint(problem.n, (64,), generator=generator) for _ in range(50)]
    matrices = [dense(Hessian(problem, 0.0, Options(seed=seed)).batch(rows)) for rows in batches]
    vector, largest = Hessian(problem, 0.0, Options()).random_start().double(), 0.0
    for matrix in matrices[:5]:
        vector = matrix @ (vector / vector.norm())
        largest = max(largest, vector.norm().item())
    s, value, iterates = max(1.0, 2.2 * (largest + 0.05)), torch.zeros_like(vector), []
    for matrix in matrices:
        value = value + (rhs.double() - matrix @ value - 0.05 * value) / s
        iterates.append(value)
    return torch.stack(iterates[-20:]).mean(0)


def close(found, expected):
    expected = expected.double().numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("changes", CASES, ids=lambda case: case["model"])
def test_they_equal_a_loop_over_examples(changes):
    trained = model(**changes)
    found = suspicions(trained, ("gradsim", "tracin", "lissa"))
    for name, title in BEHAVIOR_TITLES.items():
        terms = []
        for state, rate in trained.checkpoints:
            mean, losses = naive(trained, state, name)
            terms.append(rate * (losses @ mean))
        mean, losses = naive(trained, trained.module.state_dict(), name)
        close(found[Pair("GradSim", title)], losses @ mean)
        close(found[Pair("TracIn", title)], sum(terms))
        close(found[Pair("LiSSA", title)], losses @ naive_lissa(trained, mean))


def test_lissa_with_the_scale_of_the_authors_code():
    trained = model(model="linear", pool=4)
    scores = suspicions(trained, ("lissa_power",))
    for name, title in BEHAVIOR_TITLES.items():
        mean, losses = naive(trained, trained.module.state_dict(), name)
        expected = losses.double() @ naive_lissa_by_power_steps(trained, mean)
        close(scores[Pair("LiSSA (power steps)", title)], expected)


def test_a_suspicious_step_lowers_the_trusted_behavior():
    trained, eta = model(), 1e-3
    problem = trained.problem
    found = suspicions(trained, ("gradsim",))[Pair("GradSim", "Trusted loss")]
    _, losses = naive(trained, trained.module.state_dict(), "query_loss")
    for row in (int(found.argmax()), int(found.argmin())):
        stepped = problem.network.predict(problem.queries, problem.theta - eta * losses[row])
        change = (BEHAVIORS["query_loss"].value(stepped, problem.query_labels).mean()
                  - BEHAVIORS["query_loss"].value(problem.query_logits, problem.query_labels).mean())
        assert change.item() == pytest.approx(-eta * found[row], rel=0.05)


def test_no_gradient_of_an_example_is_formed(monkeypatch):
    trained = model()
    suspicions(trained, ("gradsim",))  # what is found out once, on two examples

    def refused(*_, **__):
        raise AssertionError("a per-example gradient was formed")

    monkeypatch.setattr(directional, "gradients_of", refused)
    monkeypatch.setattr("engine.gradients.factors.gradients_of", refused)
    gradient_scores(trained, ("gradsim", "tracin"), Options())


def test_a_residual_block_with_batchnorm_goes_layer_by_layer():
    trained = model(model="tiny_residual", n_train=60, selection="block|head")
    assert {"block.1.weight", "block.1.bias"} < set(trained.problem.network.names)
    gradient_scores(trained, ("gradsim",), Options())
    route = vars(trained.problem.network)["findings"]["derivative", differentiable(trained.problem.loss)]
    assert route is directional.layer_by_layer


def test_the_trusted_gradient_is_the_same_at_any_budget():
    problem = model().problem
    behaviors, weights = [BEHAVIORS[name] for name in BEHAVIOR_TITLES], [1.0] * len(problem.queries)
    whole = query_slopes(problem, behaviors, weights)
    single = query_slopes(problem, behaviors, weights, budget=1)
    torch.testing.assert_close(single, whole, rtol=1e-4, atol=1e-6)


def test_a_checkpoint_is_the_whole_network_as_it_was():
    trained = model()
    state, _ = trained.checkpoints[0]
    at = trained.at(state)
    for name, value in at.network.module.state_dict().items():
        torch.testing.assert_close(value, state[name])
    last, _ = trained.checkpoints[-1]
    assert all(torch.equal(last[name], value) for name, value in trained.module.state_dict().items())


def test_lissa_draws_by_the_seed_tells_how_far_it_is_and_can_be_cancelled():
    trained, shares, asked = model(model="linear"), [], []
    options = Options(seed=7, progress=shares.append, check=lambda: asked.append(len(shares)))
    found = gradient_scores(trained, ("lissa",), options)
    mean, losses = naive(trained, trained.module.state_dict(), "query_loss")
    close(found[Pair("LiSSA", BEHAVIOR_TITLES["query_loss"])], losses @ naive_lissa(trained, mean, seed=7))
    assert len(shares) >= 50 and shares == sorted(shares) and shares[-1] <= 1
    assert len(set(asked)) > 10  # asked again and again between two reports
    with pytest.raises(TypeError):
        Options(1 << 20)
