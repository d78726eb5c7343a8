"""EK-FAC's eigenvalues and influence scores as kronfluence computes them: the same numbers in float64.

Conventions. Both take the factors of the Fisher information and the eigenvalues' correction as means over examples;
kronfluence also divides by the positions of a convolution, which no eigenvector sees. Its labels are drawn from the
model once an example, where ours are all weighted by their probability, so that it is given every example once a class,
its loss times √(p_c C). Its scores are ∇B(q)ᵀ (F + δ)⁻¹ ∇ℓ(z_k) for a measurement B = ℓ, ours dB/dα for B = −ℓ: the
same. Its damping by default is a tenth of each layer's own mean eigenvalue, ours is one number, λ + δ, for all layers.
"""

import copy

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset

from engine.basics.options import Options
from engine.curvature.ekfac import factors
from engine.estimators import ESTIMATORS
from engine.gradients.vectorised import along_signal, gradients_of
from engine.question.behaviors import BEHAVIORS
from engine.question.interventions import Infinitesimal
from engine.question.processes import LocalResponse
from tests.engine.exact import network_cases as cases
from tests.engine.problems_for_tests import assert_close

analyzers = pytest.importorskip("kronfluence.analyzer", reason="kronfluence is not installed: see "
                                                               "requirements-bench.txt")
from kronfluence.arguments import FactorArguments, ScoreArguments  # noqa: E402
from kronfluence.task import Task  # noqa: E402

N, QUERIES, L2, DAMPING = 90, 4, 0.02, 0.03
DOUBLE = torch.float64
FITTED = dict.fromkeys(("activation_covariance_dtype", "gradient_covariance_dtype", "per_sample_gradient_dtype",
                        "lambda_dtype"), DOUBLE)
SCORED = dict.fromkeys(("per_sample_gradient_dtype", "precondition_dtype", "score_dtype"), DOUBLE)


def mlp():
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4), nn.Tanh(), nn.Linear(4, 3))


def cnn():
    return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.Tanh(), nn.Conv2d(4, 3, 3, stride=2, bias=False), nn.Tanh(),
                         nn.Flatten(), nn.Linear(12, 3))


MODELS = {"mlp": (mlp, (5,)), "cnn": (cnn, (2, 6, 6))}


@pytest.fixture(params=MODELS)
def problem(request):
    architecture, shape = MODELS[request.param]
    return cases.problem(architecture, shape, n=N, queries=QUERIES, l2=L2)


class Weighted(Task):
    """Cross-entropy of rows (x, label, weight), summed; labels are those of the rows, or drawn from the model."""

    def compute_train_loss(self, batch, model, sample=False):
        x, y, weight = batch
        logits = model(x)
        if sample:
            y = torch.multinomial(logits.detach().softmax(1), 1)[:, 0]
        return (weight * cross_entropy(logits, y, reduction="none")).sum()

    def compute_measurement(self, batch, model):
        return self.compute_train_loss(batch, model)


@pytest.fixture
def theirs(problem, tmp_path):
    """(fit(name, rows, **arguments): a layer's corrected eigenvalues; scores(name, **arguments): a layer's, (m, n))."""
    task = Weighted()
    model = analyzers.prepare_model(copy.deepcopy(problem.network.module).double().eval(), task)
    analyzer = analyzers.Analyzer("bench", model, task, cpu=True, disable_tqdm=True, log_level=50,
                                  output_dir=str(tmp_path))

    def fit(name, rows, **arguments):
        analyzer.fit_all_factors(name, TensorDataset(*rows), per_device_batch_size=64,
                                 factor_args=FactorArguments(**FITTED, **arguments))
        found = analyzer.load_lambda_matrices(name)
        return {layer: value / found["num_lambda_processed"][layer] for layer, value in found["lambda_matrix"].items()}

    def scores(name, **arguments):
        analyzer.compute_pairwise_scores(
            name, name, TensorDataset(*once(problem.queries, problem.query_labels)),
            TensorDataset(*once(problem.x, problem.y)), QUERIES, 32,
            score_args=ScoreArguments(compute_per_module_scores=True, **SCORED, **arguments))
        return analyzer.load_pairwise_scores(name)

    return fit, scores


def once(x, y):
    return x, y, torch.ones(len(x), dtype=DOUBLE)


def every_label(problem):
    """Each example once a class c, with the weight √(p_c C) of its loss."""
    p = problem.network.predict(problem.x).softmax(1)
    classes = p.shape[1]
    return (problem.x.repeat_interleave(classes, 0), torch.arange(classes).repeat(problem.n),
            (classes * p).sqrt().flatten())


def test_eigenvalues_and_scores_are_kronfluences(problem, theirs):
    fit, score = theirs
    values = fit("enumerated", every_label(problem), use_empirical_fisher=True)
    ours = factors(problem, Options())
    assert len(values) == len(ours.layers)
    for layer, basis in zip(ours.layers, ours.bases, strict=True):
        own, their = basis.values.flatten().sort().values, values[layer.weight.removesuffix(".weight")].flatten()
        assert_close(own, their.sort().values, 1e-8)
    expected = sum(score("enumerated", damping_factor=L2 + DAMPING).values())
    route = ESTIMATORS["ekfac"].route(problem, "local_response")
    found = route(problem, [Infinitesimal()], LocalResponse(damping=DAMPING), torch.arange(N), Options())[0]
    assert_close(found.scores(BEHAVIORS["query_loss"], problem.query_labels), expected, 1e-8)


def test_damping_by_the_mean_eigenvalue_of_a_layer(problem, theirs):
    """Their default: each layer's share of the scores, damped by a tenth of its own mean eigenvalue."""
    fit, score = theirs
    fit("heuristic", every_label(problem), use_empirical_fisher=True)
    expected, ours = score("heuristic", damping_factor=None), factors(problem, Options())
    theta, network = problem.theta, problem.network
    signals = [problem.loss_signal(network.predict(x), y) for x, y in ((problem.queries, problem.query_labels),
                                                                      (problem.x, problem.y))]
    asked, own = (gradients_of(network, x, signal, along_signal)
                  for x, signal in zip((problem.queries, problem.x), signals, strict=True))
    for layer, basis in zip(ours.layers, ours.bases, strict=True):
        part = network.flatten({name: torch.ones_like(value) if name in layer.names else torch.zeros_like(value)
                                for name, value in network.unflatten(theta).items()})
        solved = ours.inverse(problem, (asked * part).T, 0.1 * float(basis.values.mean()))
        assert_close(solved.T @ (own * part).T, expected[layer.weight.removesuffix(".weight")], 1e-8)


def test_drawn_labels_are_the_same_in_expectation(problem, theirs):
    """Their default, labels drawn from the model, here 60 times an example: the trace and the largest eigenvalue."""
    fit, _ = theirs
    torch.manual_seed(0)
    drawn = fit("drawn", once(problem.x.repeat(60, 1, *(1,) * (problem.x.ndim - 2)), problem.y.repeat(60)))
    ours = factors(problem, Options())
    for layer, basis in zip(ours.layers, ours.bases, strict=True):
        their = drawn[layer.weight.removesuffix(".weight")]
        assert float(their.sum()) == pytest.approx(float(basis.values.sum()), rel=0.05)
        assert float(their.max()) == pytest.approx(float(basis.values.max()), rel=0.1)
