"""Products of query and training gradients against a loop in float64, computed once for all behaviors."""

import pytest
import torch

from engine.gradients import factors
from engine.gradients.directional import loss_derivatives
from engine.gradients.products import (
    TrainingGradients,
    products_with,
    query_norms,
    summed_slopes,
)
from tests.engine.gradients.networks import (
    ZOO,
    assert_close,
    directions,
    loop_behaviors,
    loop_losses,
    moved,
    problem,
    signals,
)

ROWS = torch.tensor([4, 0, 6, 1, 1])


def mean_slope(p, s, **options):
    """(1/m) Σ_q J_qᵀ s_q, (P,)."""
    return summed_slopes(p, p.queries, lambda logits, part: [s[part] / len(s)], 1, **options)[0]


@pytest.mark.parametrize("name", ZOO)
def test_products_norms_and_directions_equal_those_of_a_loop(name):
    p = problem(name)
    s, v, theta = signals(p), directions(p, 3), moved(p)
    training = TrainingGradients(p, ROWS, theta)
    g, q = loop_losses(p, ROWS, theta), loop_behaviors(p, p.queries, s, theta)
    assert len(training) == 5
    assert_close(training.products(p.queries, s), q @ g.T)
    assert_close(training.norms(), g.norm(dim=1))
    assert_close(training.along(v), v @ g.T)
    assert_close(products_with(p, p.queries, s, v, theta), q @ v.T)
    assert_close(query_norms(p, p.queries, s, theta), q.norm(dim=1))


def test_the_sign_and_scale_are_those_of_a_small_step():
    p = problem("small_cnn")
    s, eta = signals(p), 1e-6
    products = TrainingGradients(p, ROWS).products(p.queries, s)
    steps = [p.theta - eta * g for g in loop_losses(p, ROWS)]
    change = torch.stack([(s * (p.network.predict(p.queries, step) - p.query_logits)).sum(1) for step in steps], 1)
    assert_close(change, -eta * products, 1e-4)


@pytest.mark.parametrize("selection", ["last_layer", "weight", "bias"])
@pytest.mark.parametrize("name", ["small_cnn", "positions"])
def test_only_the_selected_parameters_without_the_regulariser(name, selection):
    p = problem(name, parameters=selection, l2=0.4)
    expected = loop_behaviors(p, p.queries, signals(p)) @ loop_losses(p, ROWS).T
    assert_close(TrainingGradients(p, ROWS).products(p.queries, signals(p)), expected)


@pytest.mark.parametrize("name", ["small_cnn", "images", "positions", "sequences"])
def test_the_same_at_any_budget_and_in_float32(name):
    p = problem(name)
    s, v = signals(p), directions(p, 2)
    expected = TrainingGradients(p, ROWS).products(p.queries, s)
    small = TrainingGradients(p, ROWS, budget=1)
    assert_close(small.products(p.queries, s), expected, 1e-13)
    assert_close(small.norms(), TrainingGradients(p, ROWS).norms(), 1e-13)
    assert_close(products_with(p, p.queries, s, v, budget=1), products_with(p, p.queries, s, v), 1e-13)
    assert_close(mean_slope(p, s, budget=1), mean_slope(p, s), 1e-13)
    single = problem(name, dtype="float32")
    found = TrainingGradients(single, ROWS).products(single.queries, s)
    assert found.dtype == torch.float32
    assert_close(found.double(), expected, 2e-5)


def test_blocks_of_examples_make_up_the_whole():
    p = problem("small_cnn")
    rows = torch.arange(p.n)
    found = torch.cat([TrainingGradients(p, block).products(p.queries, signals(p)) for block in rows.split(3)], 1)
    assert_close(found, TrainingGradients(p, rows).products(p.queries, signals(p)), 1e-13)


@pytest.mark.parametrize("name", ["small_cnn", "images", "tied"])
def test_a_second_behavior_computes_no_training_gradient(name, monkeypatch):
    losses, backwards = [], []
    whole = torch.nn.functional.cross_entropy

    def counted(logits, labels):
        losses.append(len(labels))
        return whole(logits, labels, reduction="none")

    p = problem(name, n=9, m=4, loss=counted)
    grad = torch.autograd.grad
    training = TrainingGradients(p, torch.arange(9))
    training.products(p.queries, signals(p))
    assert losses
    losses.clear()
    monkeypatch.setattr(torch.autograd, "grad", lambda *a, **k: backwards.append(1) or grad(*a, **k))
    found = [training.products(p.queries, signals(p, seed)) for seed in range(3)]
    plan = factors.planned(p.network, p.x)
    assert not losses and len(backwards) == 3 * (bool(plan.layers) + bool(plan.written))  # of four queries each
    for seed in range(3):
        assert_close(found[seed], loop_behaviors(p, p.queries, signals(p, seed)) @ loop_losses(p, torch.arange(9)).T)


@pytest.mark.parametrize("name", ["small_cnn", "images", "tied", "frozen"])
def test_one_score_a_training_example_from_the_mean_behavior(name):
    p = problem(name)
    s = signals(p)
    v = mean_slope(p, s)
    assert_close(v, loop_behaviors(p, p.queries, s).mean(0))
    mean = TrainingGradients(p, ROWS).products(p.queries, s).mean(0)
    assert_close(loss_derivatives(p, ROWS, v), mean)


def test_memory_that_runs_out_halves_the_chunk(monkeypatch):
    p = problem("small_cnn", n=16)
    expected = TrainingGradients(p, torch.arange(16)).norms()
    whole = factors.captured

    def small(network, layers, x, *rest):
        if len(x) > 4:
            raise RuntimeError("CUDA out of memory")
        return whole(network, layers, x, *rest)

    monkeypatch.setattr(factors, "captured", small)
    with pytest.warns(RuntimeWarning, match="8 examples at a time"):
        assert_close(TrainingGradients(p, torch.arange(16)).norms(), expected, 1e-13)


def test_a_signal_in_another_precision_is_taken():
    p = problem("mlp", dtype="float32")
    s = signals(p)
    expected = TrainingGradients(p, ROWS).products(p.queries, s)
    assert TrainingGradients(p, ROWS).products(p.queries, s.double()).equal(expected)
    assert TrainingGradients(p, ROWS).along(directions(p, 2).double()).dtype == torch.float32
