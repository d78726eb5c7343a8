"""Loops with groups of parameters, several optimizers, Muon and gradients added up over batches: recorded, replayed bit
for bit, and differentiated as finite differences of the loop itself say."""

import types

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, hessian
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD, Adam, AdamW, Muon, _muon
from torch.optim.lr_scheduler import LambdaLR

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.ekfac import factors
from engine.curvature.hessian import Hessian
from engine.models.muon import RATIOS
from engine.models.muon import Muon as MuonRule
from engine.models.recorded import Recorder, open_recording
from engine.models.recorded.checking import check
from engine.problems import ModuleProblem
from engine.problems.families.network import of_recording
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring
from tests.engine.models.recorded.loops import CLASSES, N, X, Y
from tests.engine.models.recorded.test_recorder import training

CANDIDATES, QUERIES = [3, 8], 4
REPLAY = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"})
REMOVED = Scoring.of("query_loss", {"kind": "remove", "normalization": "n"}, {"kind": "retrain"})


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 6), nn.Tanh(), nn.Dropout(0.2), nn.Linear(6, CLASSES))


def weights_and_biases(module):
    parameters = [*module.parameters()]
    return [own for own in parameters if own.ndim == 2], [own for own in parameters if own.ndim < 2]


def grouped(kind, first, second):
    def make(module):
        weights, biases = weights_and_biases(module)
        return [kind([{"params": biases, **first}, {"params": weights, **second}])]  # not in the order of the module
    return make


def muon_and_adam(module):
    weights, biases = weights_and_biases(module)
    return [Muon(weights, lr=0.02), AdamW(biases, lr=1e-2)]


SGDS = grouped(SGD, {"lr": 0.1}, {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-2, "nesterov": True})
LOOPS = {
    "decay": (grouped(AdamW, {"lr": 1e-2, "weight_decay": 0.0}, {"lr": 1e-2, "weight_decay": 0.1}), {}),
    "rates": (grouped(Adam, {"lr": 1e-2}, {"lr": 3e-3}), {"rates": True}),
    "momentum": (SGDS, {"clip": 0.5}),
    "one group, clipped": (lambda module: [SGD(module.parameters(), 0.1, momentum=0.9)], {"clip": 0.5}),
    "Muon and AdamW": (muon_and_adam, {}),
    "two batches a step": (lambda module: [AdamW(module.parameters(), 1e-2)], {"adds": 2}),
    "always divided by three": (lambda module: [SGD(module.parameters(), 0.1, momentum=0.9)],
                                {"adds": 3, "accumulation": 3}),
    "all": (muon_and_adam, {"adds": 2, "accumulation": 2, "clip": 0.7, "rates": True}),
}


def run(name, folder=None, x=X, weights=None):
    """The loop of that name, as a user writes it; weights: of the examples' losses. The last step of an epoch may add
    up fewer batches, of which the last is smaller."""
    make, options = LOOPS[name]
    adds, clip = options.get("adds", 1), options.get("clip")
    torch.manual_seed(3)
    module = network().to(x.dtype)
    optimizers = make(module)
    schedules = [LambdaLR(one, [lambda step: 0.9**step, lambda step: 0.8**step][:len(one.param_groups)])
                 for one in optimizers if options.get("rates")]
    recorder = Recorder(folder, module, optimizers, every=3, clip=clip, accumulation=options.get("accumulation")
                        ) if folder else None
    for _ in range(3):
        batches = torch.randperm(N).split(9)
        for first in range(0, len(batches), adds):
            together = batches[first:first + adds]
            for rows in together:
                if recorder:
                    recorder.batch(x[rows], Y[rows])
                each = cross_entropy(module(x[rows]), Y[rows], reduction="none")
                loss = (each if weights is None else weights[rows] * each).sum() / len(rows)
                divided = options.get("accumulation") or sum(map(len, together)) / len(rows)
                (loss if divided == 1 else loss * (1 / divided)).backward()
            if clip:
                clip_grad_norm_(module.parameters(), clip)
            for one in [*optimizers, *schedules]:
                one.step()
            module.zero_grad()
    if recorder:
        recorder.close()
    return module


def read(module, x):
    with torch.no_grad():
        return -cross_entropy(module.eval()(x[:QUERIES] + 0.1), Y[:QUERIES], reduction="none")


def problem_of(folder, x):
    def problem(module, recipe, **rest):
        return ModuleProblem(module, x, Y, x[:QUERIES] + 0.1, Y[:QUERIES], CANDIDATES, recipe=recipe, **rest)

    return of_recording(open_recording(folder), lambda: network().to(x.dtype), x.numpy(), Y.numpy(), problem)


@pytest.fixture
def unrounded(monkeypatch):
    """torch's Muon in float64 instead of bfloat16."""
    other = types.ModuleType("torch")
    other.__dict__.update({**vars(torch), "bfloat16": torch.float64})
    monkeypatch.setattr(_muon, "torch", other)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_replayed_bit_for_bit(tmp_path, monkeypatch, name):
    module = run(name, tmp_path / "run")
    assert all(torch.equal(one, other) for one, other in zip(module.parameters(), run(name).parameters(), strict=True))
    monkeypatch.setitem(__import__("tests.engine.models.recorded.loops", fromlist=["MODELS"]).MODELS, "own", network)
    own = training(tmp_path / "run", model="own")
    assert not own.recipe.fault and check(own).exact
    assert own.recipe.run.facts.kinds in own.recipe.sentence


@pytest.mark.usefixtures("unrounded")
@pytest.mark.parametrize("name", LOOPS)
def test_replay_is_the_derivative_of_the_loop(tmp_path, name):
    x = X.double()
    run(name, tmp_path / "run", x)
    problem = problem_of(tmp_path / "run", x)
    found = {kind: compute(one, REPLAY)[0].values for kind, one in (
        ("tangent", problem), ("adjoint", problem_of(tmp_path / "run", x).with_candidates([*CANDIDATES, *range(9, 18)]))
    )}
    for place, row in enumerate(CANDIDATES):
        ends = []
        for change in (2e-5, -2e-5, 1e-5, -1e-5):
            weights = torch.ones(N, dtype=torch.float64)
            weights[row] += change
            ends.append(read(run(name, x=x, weights=weights), x))
        expected = N * (8 * (ends[2] - ends[3]) - (ends[0] - ends[1])) / 12e-5
        for values in found.values():
            np.testing.assert_allclose(values[:, place], expected, rtol=1e-5, atol=1e-6 * float(expected.abs().max()))


@pytest.mark.parametrize("name", ["decay", "Muon and AdamW", "two batches a step", "always divided by three"])
def test_retraining_without_an_example_is_the_loop_without_it(tmp_path, monkeypatch, name):
    monkeypatch.setattr(nn.functional, "dropout", lambda x, *_: x)  # whose masks would be others in smaller batches
    run(name, tmp_path / "run")
    found = compute(problem_of(tmp_path / "run", X), REMOVED)[0].values
    for place, row in enumerate(CANDIDATES):
        weights = torch.ones(N)
        weights[row] = 0.0
        expected = read(run(name, weights=weights), X) - read(run(name), X)
        np.testing.assert_allclose(found[:, place], expected, rtol=1e-3, atol=2e-3 if "Muon" in name else 2e-5)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("ratio", [None, *RATIOS])
@pytest.mark.parametrize("nesterov", [True, False])
def test_steps_of_muon_are_torchs(monkeypatch, shape, ratio, nesterov, unrounded):
    """In float64; and in bfloat16 within its rounding, relative to the length of the update."""
    generator = torch.Generator().manual_seed(0)
    leaf = nn.Parameter(torch.randn(*shape, dtype=torch.float64, generator=generator))
    optimizer = Muon([leaf], lr=0.1, weight_decay=0.2, momentum=0.8, nesterov=nesterov, adjust_lr_fn=ratio)
    rule = MuonRule(shape, 0.8, 0.2, nesterov, ratio=ratio or "original")
    theta = leaf.detach().clone().flatten()
    state = rule.fresh(theta)
    for count in range(1, 5):
        leaf.grad = torch.randn(*shape, dtype=torch.float64, generator=generator)
        optimizer.step()
        theta, state = rule.step(theta, state, leaf.grad.flatten(), 0.1, count)
        torch.testing.assert_close(theta.reshape(shape), leaf.detach(), rtol=1e-12, atol=1e-13)
    monkeypatch.setattr(_muon, "torch", torch)
    update = torch.randn(*shape, dtype=torch.float64, generator=generator)
    rounded = _muon._zeropower_via_newtonschulz(update, rule.coefficients, 5, 1e-7).double()
    assert (rule.orthogonal(update) - rounded).norm() <= 0.03 * rounded.norm()


@pytest.mark.parametrize(("estimator", "told"), [("source", "models training as a flow"),
                                                 ("in_run_shapley", "second-order effect")])
def test_estimators_that_read_one_rule_refuse_several(tmp_path, estimator, told):
    run("momentum", tmp_path / "run")
    scoring = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"}, estimator)
    with pytest.raises(InvalidInput, match=told):
        compute(problem_of(tmp_path / "run", X), scoring)


@pytest.mark.parametrize("name", ["rates", "Muon and AdamW", "two batches a step"])
@pytest.mark.parametrize("estimator", ["dvemb", "tracin_run"])
def test_other_estimators_of_the_run_read_it(tmp_path, name, estimator):
    run(name, tmp_path / "run")
    scoring = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "replay"}, estimator)
    assert np.isfinite(compute(problem_of(tmp_path / "run", X), scoring)[0].values).all()


def test_optimizers_that_step_unequally_cannot_be_replayed(tmp_path):
    module = network()
    optimizers = muon_and_adam(module)
    with Recorder(tmp_path / "run", module, optimizers) as recorder:
        for step in range(3):
            recorder.batch(X, Y)
            cross_entropy(module(X), Y).backward()
            for one in optimizers if step != 1 else optimizers[:1]:
                one.step()
    run_of = open_recording(tmp_path / "run")
    assert run_of.facts.steps == 3 and [(one.step, one.why[:25]) for one in run_of.facts.reasons] == [
        (3, "its optimizers did not ea")]


def test_a_number_below_one_is_refused(tmp_path):
    module = network()
    with pytest.raises(InvalidInput, match="`accumulation` is 0; give the number"):
        Recorder(tmp_path / "run", module, SGD(module.parameters(), 0.1), accumulation=0)


DECAYS = {"1.bias": 0.0, "4.bias": 0.0, "1.weight": 1e-2, "4.weight": 1e-2}
"""Of the loop `momentum`: its biases have none."""


def objective(problem, x):
    """θ (P,) -> L_D, with the decay of every group on its own parameters."""
    def value(theta):
        own = problem.network.unflatten(theta)
        loss = cross_entropy(functional_call(problem.network.module, own, (x,)), Y)
        return loss + sum(DECAYS[name] / 2 * part.square().sum() for name, part in own.items())
    return value


@pytest.fixture
def decayed(tmp_path):
    x = X.double()
    run("momentum", tmp_path / "run", x)
    problem = problem_of(tmp_path / "run", x)
    return problem, objective(problem, x)


def test_every_group_has_its_own_decay_in_the_objective(decayed):
    problem, value = decayed
    assert problem.facts["l2"] == {name: DECAYS[name] for name in problem.network.names}
    loss, gradient = problem.factual
    assert loss == pytest.approx(value(problem.theta).item(), rel=1e-12)
    torch.testing.assert_close(gradient, grad(value)(problem.theta), rtol=1e-10, atol=1e-14)
    exact = hessian(value)(problem.theta)
    torch.testing.assert_close(Hessian(problem) @ torch.eye(problem.parameters).double(), exact, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(problem.recipe.rule.penalty, problem.l2)


def test_local_response_inverts_the_hessian_with_the_decays_of_the_groups(decayed):
    """dB/dα = −∇Bᵀ (∇²L_D + δI)⁻¹ ∇ℓ, in closed form."""
    problem, value = decayed
    damping = 1.0
    scoring = Scoring.of("query_loss", {"kind": "infinitesimal"}, {"kind": "local_response", "damping": damping})
    network, exact = problem.network, hessian(value)(problem.theta)

    def loss(theta, x, y):
        return cross_entropy(functional_call(network.module, network.unflatten(theta), (x,)), y)

    inverse = torch.linalg.inv(exact + damping * torch.eye(problem.parameters).double())
    queries = torch.stack([grad(loss)(problem.theta, x[None], y[None])
                           for x, y in zip(problem.queries, problem.query_labels, strict=True)])
    rows = torch.stack([grad(loss)(problem.theta, problem.x[row][None], Y[row][None]) for row in CANDIDATES])
    np.testing.assert_allclose(compute(problem, scoring)[0].values, queries @ inverse @ rows.T, rtol=1e-7)


def test_a_layer_of_an_approximation_has_the_mean_of_its_decays(decayed):
    """EK-FAC of one layer with its basis: (Λ + λ̄ + δ) in it, λ̄ over the entries of weight and bias."""
    problem, _ = decayed
    shift = problem.l2 + 0.5
    made = factors(problem, Options())
    layer, basis = made.layers[0], made.bases[0]
    vectors = torch.randn(problem.parameters, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mean = 0.5 + DECAYS["1.weight"] * 36 / 37
    whole = layer.to_matrix(problem.network.unflatten(vectors.T))
    turned = basis.outputs.T @ whole @ basis.inputs
    expected = basis.outputs @ (turned / (basis.values + mean)) @ basis.inputs.T
    if basis.inputs.shape[1] < layer.inputs:
        expected = expected + (whole - whole @ basis.inputs @ basis.inputs.T) / mean
    given = layer.to_matrix(problem.network.unflatten(made.inverse(problem, vectors, shift).T))
    torch.testing.assert_close(given, expected, rtol=1e-10, atol=1e-12)


def test_groups_of_one_decay_have_one_number(tmp_path):
    run("rates", tmp_path / "other")
    assert problem_of(tmp_path / "other", X).l2 == 0.0
