"""Changes of query logits against arithmetic of fifty digits and of float64; what rounding spoils is said."""

import mpmath
import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.utils import parametrizations

from engine.analysis.error_curves import step_agreement
from engine.basics.options import Options
from engine.exact.differences import FactualPoint
from engine.gradients.response import RESOLUTION, LogitTerm, Response
from engine.problems import ModuleProblem, ProblemSource
from engine.question.behaviors import BEHAVIORS
from engine.question.class_behaviors import CLASS_BEHAVIORS
from engine.scoring.compute import compute
from engine.scoring.scoring import Scoring

ETAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6)


def tanh_problem(dtype="float64", n=12, queries=5, sure=False):
    """sure: training examples with the labels that the model gives them, at log-odds of up to 56."""
    torch.manual_seed(3)
    generator = torch.Generator().manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3))
    x = torch.randn(n + queries, 3, generator=generator)
    y = torch.randint(3, (n + queries,), generator=generator)
    if sure:
        with torch.no_grad():
            module[2].weight.mul_(200)
            y[:n] = module(x[:n]).argmax(-1)
    return ModuleProblem(module, x[:n], y[:n], x[n:], y[n:], dtype=dtype)


def digits(precise, names):
    """The weights as mpmath matrices, the bias as a column."""
    return {name: mpmath.matrix(precise[name].double().numpy().reshape(len(precise[name]), -1).tolist())
            for name in names}


def forward(values, x):
    h = values["0.weight"] * x + values["0.bias"]
    h = h.apply(mpmath.tanh)
    return values["2.weight"] * h + values["2.bias"], h


def log_probability(logits, label):
    return logits[label] - mpmath.log(sum(mpmath.exp(value) for value in logits))


def stepped(values, x, label, eta):
    """One gradient step on −log p_label by hand."""
    logits, h = forward(values, x)
    total = sum(mpmath.exp(value) for value in logits)
    signal = mpmath.matrix([mpmath.exp(value) / total for value in logits])
    signal[label] -= 1
    back = values["2.weight"].T * signal
    back = mpmath.matrix([back[i] * (1 - h[i] ** 2) for i in range(len(back))])
    return {"0.weight": values["0.weight"] - eta * back * x.T, "0.bias": values["0.bias"] - eta * back,
            "2.weight": values["2.weight"] - eta * signal * h.T, "2.bias": values["2.bias"] - eta * signal}


@pytest.mark.parametrize(("eta", "sure"), [(1e-1, False), (1e-4, False), (1e-8, False), (1e-4, True)])
def test_a_step_against_fifty_digits(eta, sure):
    """Whatever is not flagged is right to RESOLUTION, and hardly anything is flagged."""
    problem = tanh_problem(sure=sure)
    found = compute(problem, Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": eta}))[0]
    with mpmath.workdps(50):
        values = digits(dict(problem.network.module.named_parameters()), problem.network.names)
        columns = [mpmath.matrix(row.tolist()) for row in (*problem.x, *problem.queries)]
        for k in range(problem.n):
            moved = stepped(values, columns[k], int(problem.y[k]), mpmath.mpf(eta))
            for q, label in enumerate(problem.query_labels.tolist()):
                x = columns[problem.n + q]
                truth = log_probability(forward(moved, x)[0], label) - log_probability(forward(values, x)[0], label)
                if found.above_resolution[q, k]:
                    assert abs(found.values[q, k] / truth - 1) < RESOLUTION
    assert found.above_resolution.mean() > 0.95


def test_first_order_meets_the_exact_step_as_the_step_shrinks():
    """Figure A-1 at small η: τ rises to 1. In float32 it would fall, at η = 1e-4 to below 0.7."""
    problem = ProblemSource(dataset="digits", model="mlp", n_train=300, n_queries=40, n_candidates=40,
                            recipe={"epochs": 10, "batch_size": 50, "learning_rate": 0.05, "momentum": 0.9}
                            ).build().problem
    taus = [np.nanmean(step_agreement(problem, eta, ["query_loss"])["query_loss"]["kendall_tau"]) for eta in ETAS]
    assert all(later >= sooner - 1e-4 for sooner, later in zip(taus, taus[1:], strict=False))
    assert taus[-1] > 0.9999


def test_what_float32_cannot_resolve_is_flagged():
    """In single precision hardly a score at η = 1e-3 is known to six digits: what float64 contradicts is flagged, and
    takes part all the same where it is further from the others than it is off."""
    problem = tanh_problem("float32", n=400, queries=20)
    scoring = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 1e-3})
    single, double = (compute(problem, scoring, Options(precision=precision))[0] for precision in ("float32", "auto"))
    assert single.provenance["resolution"]["precision"] == "float32"
    assert double.provenance["resolution"]["precision"] == "float64" and double.below_resolution == 0
    off = np.abs(single.values - double.values) > RESOLUTION * np.abs(double.values)
    assert off.any() and not (off & single.above_resolution).any() and single.above_resolution.mean() < 0.05
    assert (np.abs(single.values - double.values) <= single.error + double.error).all()
    assert (single.signed & ~single.above_resolution).any() and np.isnan(single.trusted[~single.ranked]).all()
    assert (np.sign(single.values) == np.sign(double.values))[single.signed].all()


def test_the_error_is_within_its_bound_for_a_network_with_kinks():
    """ReLU and max-pooling in float32 against float64, for displacements of many sizes."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Unflatten(1, (1, 6, 6)), nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                           nn.Linear(12, 3))
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(40, 36, generator=generator), torch.randint(3, (40,), generator=generator)
    single = ModuleProblem(module, x[:20], y[:20], x[20:], y[20:])
    double = single.double()
    direction = torch.randn(single.parameters, generator=generator)
    for size in (1e-1, 1e-3, 1e-5, 1e-7):
        found, bound = FactualPoint.at(single, single.theta).change(size * direction)
        truth, _ = FactualPoint.at(double, double.theta).change((size * direction).double())
        assert ((found.double() - truth).abs().amax(1) <= bound.double()).all()


@pytest.mark.parametrize("name", [one.name for one in CLASS_BEHAVIORS if one.difference is not None])
def test_differences_of_behaviors_in_closed_form(name):
    """Against the values themselves where the change is large, and against the gradient where it is tiny."""
    behavior, generator = BEHAVIORS[name], torch.Generator().manual_seed(0)
    logits = 3.0 * torch.randn(50, 1, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(4, (50, 1), generator=generator)
    direction = torch.randn(50, 6, 4, generator=generator, dtype=torch.float64)
    for size in (0.1, 3.0, 60.0):
        change = size * direction
        expected = behavior.value(logits + change, labels.expand(50, 6)) - behavior.value(logits, labels)
        torch.testing.assert_close(behavior.changed(change, logits, labels), expected, rtol=1e-9, atol=1e-12)
    slope = (direction * behavior.signal(logits, labels)).sum(-1)
    torch.testing.assert_close(behavior.changed(1e-12 * direction, logits, labels) * 1e12, slope, rtol=1e-8, atol=1e-12)


def test_a_query_that_is_certain_keeps_its_digits():
    """log p of p = 1 − 1e-20: subtracting the two values would leave nothing."""
    logits, change = torch.tensor([[[46.0, 0.0]]]).double(), torch.tensor([[[1e-3, 0.0]]]).double()
    labels = torch.tensor([[0]])
    found = BEHAVIORS["query_loss"].changed(change, logits, labels).item()
    with mpmath.workdps(60):
        truth = mpmath.log(1 + mpmath.exp(-46)) - mpmath.log(1 + mpmath.exp(-(46 + mpmath.mpf(1e-3))))
    assert found == pytest.approx(float(truth), rel=1e-12)


def test_softmax_regression_at_a_step_of_a_millionth():
    """Closed form against the first-order term, which it must meet to η² while its own digits last."""
    problem = ProblemSource(dataset="digits", n_train=200, n_queries=30, n_candidates=50).build().problem
    scorings = [Scoring.of(behavior, {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 1e-6}, estimator)
                for behavior in ("query_loss", "query_logit", "soft_margin", "probability")
                for estimator in ("exact", "first_order")]
    found = compute(problem, scorings)
    for exact, tangent in zip(found[::2], found[1::2], strict=True):
        assert exact.above_resolution.mean() > 0.99
        known = exact.above_resolution
        np.testing.assert_allclose(exact.values[known], tangent.values[known], rtol=1e-3)


def test_a_jump_at_a_tie_is_below_resolution():
    """Which of two equal logits is the larger one, rounding decides; a clear winner is resolved."""
    behavior, labels = BEHAVIORS["correct"], torch.tensor([0, 0])
    change = torch.tensor([[[1e-16, 0.0], [1.0, 0.0]], [[0.0, 1e-3], [1e-12, 0.0]]]).double()
    part = LogitTerm(change, torch.tensor([[0.5, 1.0], [2.0, 1.0]]).double(), noise=torch.full((2, 2), 1e-14).double())
    tie = LogitTerm(change[:1], torch.tensor([[1.0, 1.0]]).double())
    assert torch.equal(part.errors(behavior, labels), torch.zeros(2, 2).double())
    assert part.errors(behavior, labels).dtype == torch.float64
    assert (tie.errors(behavior, labels[:1]) == torch.inf).all()


@pytest.mark.parametrize("name", [name for name, behavior in BEHAVIORS.items() if behavior.steepest is not None])
@pytest.mark.parametrize("noise", [None, 1e-13])
def test_a_coarse_bound_changes_no_verdict(name, noise):
    """No slope exceeds the steepest one, and scores are above resolution exactly where the close bound says so."""
    behavior, generator = BEHAVIORS[name], torch.Generator().manual_seed(0)
    logits = 8 * torch.randn(60, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(4, (60,), generator=generator)
    sizes = torch.logspace(-11, 1, 30, dtype=torch.float64)[None, :, None]
    change = sizes * torch.randn(60, 30, 4, generator=generator, dtype=torch.float64)
    part = LogitTerm(change, logits, noise=None if noise is None else torch.full((60, 30), noise).double())
    assert behavior.signal(logits, labels).abs().max() <= behavior.steepest
    scores, close = part.scores(behavior, labels), part.errors(behavior, labels)
    allowed = RESOLUTION * scores.abs()
    found = Response.closed_form(part).errors(scores, behavior, labels) <= allowed
    assert torch.equal(found, close <= allowed) and found.any() and (noise is None or not found.all())
    assert (part.errors(behavior, labels, allowed) >= close * (1 - 1e-12)).all()


def test_a_network_that_jumps_is_subtracted():
    """Householder maps read the sign of their diagonal as a whole number, so that f jumps where random p move it."""
    torch.manual_seed(3)
    module = nn.Sequential(parametrizations.orthogonal(nn.Linear(6, 5)), nn.Tanh(), nn.Linear(5, 3))
    x, y = torch.randn(16, 6), torch.arange(16) % 3
    problem = ModuleProblem(module, x, y, x[:4], y[:4], dtype="float64")
    exact = Scoring.of("query_loss", {"kind": "add_occurrence"}, {"kind": "one_step", "eta": 0.1})
    ours = compute(problem, [exact])[0].values
    values, x = dict(module.double().named_parameters()), x.double()

    def loss(at, rows):
        return nn.functional.cross_entropy(functional_call(module, at, (x[rows],)), y[rows], reduction="none")

    for row in range(16):
        slopes = torch.autograd.grad(loss(values, [row]).sum(), list(values.values()))
        moved = {name: value - 0.1 * slope for (name, value), slope in zip(values.items(), slopes, strict=True)}
        expected = (loss(values, [0, 1, 2, 3]) - loss(moved, [0, 1, 2, 3])).detach().numpy()
        np.testing.assert_allclose(ours[:, row], expected, rtol=0, atol=1e-12)
