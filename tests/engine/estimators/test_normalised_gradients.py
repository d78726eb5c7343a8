"""Gradients over second moments, and TrackStar, against their formulas example by example."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.curvature.layers import factored_layers
from engine.curvature.logra import two_sided
from engine.curvature.projected import sampled_for
from engine.estimators import second_moments
from engine.problems.module import Checkpoint
from engine.question.behaviors import BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine import problems_for_tests as naive
from tests.engine.curvature import networks
from tests.engine.curvature.test_kronecker import of_layer

ADD, STEP = {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.3}
BEHAVIOR = "soft_margin"


def network(name="mlp", **options):
    return networks.problem(name, n=11, **options)


def gradients(problem):
    """(∇B (m, P), ∇ℓ (n, P)) by plain autograd."""
    def slope(read, x):
        theta = problem.theta.clone().requires_grad_(True)
        return torch.autograd.grad(read(problem.network.logits(x, theta)).sum(), theta)[0]

    value = BEHAVIORS[BEHAVIOR].value
    queries = [slope(lambda f, y=y: value(f, y), x[None])
               for x, y in zip(problem.queries, problem.query_labels[:, None], strict=True)]
    own = [slope(lambda f, y=y: problem.loss(f, y), x[None])
           for x, y in zip(problem.x, problem.y[:, None], strict=True)]
    return torch.stack(queries), torch.stack(own)


def scores(problem, estimator, intervention=ADD, process=STEP):
    return torch.as_tensor(compute(problem, Scoring.of(BEHAVIOR, intervention, process, estimator))[0].values)


def adafactor(second, shapes):
    """Entry by entry, of V (P,) in pieces of these shapes."""
    out = second.clone()
    start = 0
    for shape in shapes:
        size = shape.numel()
        if len(shape) > 1:
            block = second[start:start + size].view(shape[0], -1)
            for i in range(block.shape[0]):
                for j in range(block.shape[1]):
                    out[start + i * block.shape[1] + j] = block[i].sum() * block[:, j].sum() / block.sum()
        start += size
    return out


def shapes_of(problem):
    own = dict(problem.network.module.named_parameters())
    return [own[name].shape for name in problem.network.names]


@pytest.mark.parametrize("name", ["mlp", "convolutions"])
def test_steps_over_the_second_moment_of_a_network(name):
    problem = network(name)
    queries, own = gradients(problem)
    second = own.square().mean(0)
    for estimator, held in (("adam_normalised", second),
                            ("adafactor_normalised", adafactor(second, shapes_of(problem)))):
        expected = -0.3 * queries @ (own / (held.sqrt() + 1e-8)).T
        torch.testing.assert_close(scores(problem, estimator), expected, rtol=1e-8, atol=1e-10)


def test_steps_over_the_second_moment_of_softmax_regression():
    problem = naive.problem(n=20, candidates=[4, 2, 7])
    weights, x, y = problem.weights, problem.x, problem.y

    def slope(read, row):
        leaf = weights.clone().requires_grad_(True)
        return torch.autograd.grad(read(row @ leaf), leaf)[0].flatten()

    own = torch.stack([slope(lambda f, k=k: torch.nn.functional.cross_entropy(f[None], y[k][None]), x[k])
                       for k in range(20)])
    value = BEHAVIORS[BEHAVIOR].value
    queries = torch.stack([slope(lambda f, label=label: value(f[None], label[None])[0], row)
                           for row, label in zip(problem.queries, problem.query_labels, strict=True)])
    second = own.square().mean(0)
    for estimator, held in (("adam_normalised", second), ("adafactor_normalised", adafactor(second, [weights.shape]))):
        expected = -0.3 * queries @ (own[[4, 2, 7]] / (held.sqrt() + 1e-8)).T
        torch.testing.assert_close(scores(problem, estimator), expected, rtol=1e-8, atol=1e-10)
    with pytest.raises(InvalidInput, match="no second moment was stored"):
        scores(problem, "adam_normalised;moments=training")


def test_the_factors_are_those_of_torchs_adafactor():
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(3, 4))
    weight.grad = torch.randn(3, 4)
    optimizer = torch.optim.Adafactor([weight])
    optimizer.step()
    rows, columns = (optimizer.state[weight][name] for name in ("row_var", "col_var"))
    torch.testing.assert_close(second_moments._outer(weight.grad.square()), rows * columns / rows.mean())


def test_the_moments_of_the_training():
    problem = network()
    queries, own = gradients(problem)
    with pytest.raises(InvalidInput, match="did not store Adam's second moment"):
        scores(problem, "adam_normalised;moments=training")
    second = torch.rand(problem.parameters, dtype=torch.float64) + 0.1
    problem.checkpoints = (Checkpoint(problem.theta, 0.1, torch.zeros_like(second), second, steps=7),)
    expected = -0.3 * queries @ (own / ((second / (1 - 0.999**7)).sqrt() + 1e-8)).T
    torch.testing.assert_close(scores(problem, "adam_normalised;moments=training"), expected, rtol=1e-8, atol=1e-10)


def trackstar(problem, damping, rank, mixing, kind):
    """Layer by layer with the projection as a dense matrix."""
    queries, own = gradients(problem)
    second = own.square().mean(0)
    spread = {"adam": second, "adafactor": adafactor(second, shapes_of(problem)),
              "none": torch.ones_like(second)}[kind].sqrt() + (kind != "none") * 1e-8
    layers, sides = factored_layers(problem), ([], [])
    for layer, projection in zip(layers, sampled_for(layers, two_sided(rank), 0, problem.theta), strict=True):
        index = of_layer(problem, layer).flatten()
        dense = torch.kron(projection.outputs.matrix, projection.inputs.matrix)
        q, u = ((rows / spread)[:, index] @ dense.T for rows in (queries, own))
        matrix = (1 - mixing) * u.T @ u / len(u) + mixing * q.T @ q / len(q)
        shift = damping or 0.1 * matrix.trace() / len(matrix)
        matrix = matrix + shift * torch.eye(len(matrix), dtype=torch.float64)
        values, vectors = torch.linalg.eigh(matrix)
        whiten = vectors @ torch.diag(values**-0.5) @ vectors.T
        for held, rows in zip(sides, (q, u), strict=True):
            held.append(rows @ whiten)
    q, u = (torch.cat(side, 1) for side in sides)
    return torch.tensor([[-(a @ b / a.norm() / b.norm()).item() for b in u] for a in q], dtype=torch.float64)


@pytest.mark.parametrize("name, damping, rank, mixing, kind", [
    ("mlp", 0.2, 2, 0.9, "adam"), ("mlp", 0.0, 2, 0.5, "adafactor"), ("convolutions", 0.1, 3, 0.0, "none"),
    ("convolutions", 0.0, 256, 0.9, "adafactor")])
def test_trackstar(name, damping, rank, mixing, kind):
    problem = network(name)
    found = scores(problem, f"trackstar;rank={rank};mixing={mixing};second_moment={kind}", {"kind": "infinitesimal"},
                   {"kind": "local_response", "damping": damping})
    torch.testing.assert_close(found, trackstar(problem, damping, rank, mixing, kind), rtol=1e-6, atol=1e-8)


def test_trackstar_without_projection_is_the_cosine_of_the_fisher_matrixs_influence():
    """With one layer, μ = 0 and no second moment, scores times both whitened lengths are −g_qᵀ(F + δI)⁻¹g_k."""
    problem = network("linear")
    queries, own = gradients(problem)
    inverse = torch.linalg.inv(own.T @ own / len(own) + 0.2 * torch.eye(own.shape[1], dtype=torch.float64))
    lengths = [torch.einsum("mp,pr,mr->m", rows, inverse, rows).sqrt() for rows in (queries, own)]
    found = scores(problem, "trackstar;rank=256;mixing=0.0;second_moment=none", {"kind": "infinitesimal"},
                   {"kind": "local_response", "damping": 0.2})
    torch.testing.assert_close(found * torch.outer(*lengths), -queries @ inverse @ own.T, rtol=1e-8, atol=1e-10)


def test_trackstar_of_candidates_is_that_of_all():
    problem = network()
    asked = {"intervention": {"kind": "infinitesimal"}, "process": {"kind": "local_response"}}
    whole = scores(problem, "trackstar", **asked)
    few = problem.with_candidates([5, 2])
    torch.testing.assert_close(scores(few, "trackstar", **asked), whole[:, [5, 2]])


def test_trackstar_needs_a_layer_that_it_can_project():
    with pytest.raises(InvalidInput, match="TrackStar projects the gradients of linear layers"):
        scores(network("convolutions", parameters=r"^1\."), "trackstar", {"kind": "infinitesimal"},
               {"kind": "local_response"})
