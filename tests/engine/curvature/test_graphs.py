"""Curvature products against the dense matrices of automatic differentiation."""

import warnings

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import Hessian, graphs, hessian
from engine.curvature.gauss_newton import loss_curvature
from engine.curvature.graphs import graph_bytes
from engine.curvature.hessian import hessian_map
from engine.curvature.solution import column_blocks
from engine.problems.module import ModuleProblem
from tests.engine.curvature.networks import (
    LOSSES,
    MODULES,
    close,
    dense_gauss_newton,
    dense_hessian,
    finite_difference,
    problem,
    product,
    vectors,
)

DENSE = {False: dense_hessian, True: dense_gauss_newton}


@pytest.mark.grid
@pytest.mark.parametrize("gauss_newton", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", MODULES)
def test_against_the_dense_matrix(name, loss, gauss_newton):
    p = problem(name, loss=loss)
    v = vectors(p)
    expected = DENSE[gauss_newton](p) @ v + 0.2 * v
    assert close(product(p, v, 0.2, gauss_newton=gauss_newton), expected, 1e-10)


@pytest.mark.parametrize("name", MODULES)
def test_against_finite_differences_of_the_gradient(name):
    p = problem(name, loss="squared_probability_error")
    assert close(product(p, vectors(p)), finite_difference(p, vectors(p)), 1e-6)


@pytest.mark.parametrize("gauss_newton", [False, True])
def test_a_mini_batch_has_its_own_mean_and_may_repeat_rows(gauss_newton):
    p = problem("convolutions")
    rows = torch.tensor([5, 0, 5])
    expected = DENSE[gauss_newton](p, rows) @ vectors(p)
    assert close(product(p, vectors(p), rows=rows, gauss_newton=gauss_newton), expected, 1e-10)


@pytest.mark.grid
@pytest.mark.parametrize("selection", ["last_layer", "bias", "0.weight"])
@pytest.mark.parametrize("gauss_newton", [False, True])
def test_selected_parameters(selection, gauss_newton):
    p = problem("mlp", parameters=selection)
    expected = DENSE[gauss_newton](p) @ vectors(p)
    assert close(product(p, vectors(p), gauss_newton=gauss_newton), expected, 1e-10)


@pytest.mark.grid
@pytest.mark.parametrize("rows, columns", [(1, 1), (2, 3), (4, 1), (9, 64)])
@pytest.mark.parametrize("gauss_newton", [False, True])
def test_chunks_do_not_change_the_product(rows, columns, gauss_newton, monkeypatch):
    p = problem("convolutions")
    v = vectors(p, 5)
    monkeypatch.setitem(graphs.GRAPH_BYTES, "cpu", rows * graph_bytes(p))
    monkeypatch.setitem(graphs.BATCH_BYTES, "cpu", columns * rows * graph_bytes(p))
    monkeypatch.setattr(graphs, "COLUMNS", columns)
    assert close(product(p, v, gauss_newton=gauss_newton), DENSE[gauss_newton](p) @ v, 1e-10)


def test_graphs_are_kept_between_calls_where_they_fit(monkeypatch):
    p = problem("convolutions")
    built = []
    monkeypatch.setattr(hessian, "hessian_map", lambda *a: built.append(1) or hessian_map(*a))
    monkeypatch.setitem(graphs.GRAPH_BYTES, "cpu", 4 * graph_bytes(p))
    for budget, count in ((Options().budget, 3), (32 * graph_bytes(p), 6)):
        curvature = Hessian(p, 0.1, Options(budget=budget))
        for scale in (1, 2):
            expected = scale * (dense_hessian(p) @ vectors(p)) + 0.1 * scale * vectors(p)
            assert close(curvature @ (scale * vectors(p)), expected, 1e-10)
        assert len(built) == count
        built.clear()


def test_strided_vectors_and_single_precision():
    p = problem("mlp", dtype="float32")
    v = vectors(p)
    expected = dense_hessian(p) @ v
    assert close(product(p, v.T.contiguous().T), expected, 1e-5)
    assert product(p, v).dtype == torch.float32


def test_loss_linear_in_the_logits_has_only_the_networks_own_curvature():
    def loss(logits, labels):
        return -logits.gather(1, labels[:, None])[:, 0]

    p = problem("linear")
    p.loss = loss
    v = vectors(p)
    assert close(product(p, v, 0.5), (p.l2 + 0.5) * v, 1e-12)
    assert close(product(p, v, 0.5, gauss_newton=True), (p.l2 + 0.5) * v, 1e-12)


def test_loss_curvature_of_cross_entropy_in_closed_form():
    p = problem()
    logits, u = torch.randn(9, 3, dtype=torch.float64), torch.randn(2, 9, 3, dtype=torch.float64)
    q = logits.softmax(-1)
    expected = q * u - q * (q * u).sum(-1, keepdim=True)
    assert close(loss_curvature(p, logits, torch.arange(9))(u), expected, 1e-12)


class Cube(torch.autograd.Function):
    """An operation of a user's own, without rules for vmap or forward mode."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        if not g.detach().isfinite().all():  # a branch on data, which vmap refuses
            raise ValueError
        return 3 * x ** 2 * g


class Custom(nn.Module):
    def __init__(self, operation):
        super().__init__()
        self.layer, self.operation = nn.Linear(4, 3), operation

    def forward(self, x):
        return self.operation(self.layer(x))


def custom(operation):
    torch.manual_seed(0)
    return ModuleProblem(Custom(operation), torch.randn(6, 4), [0, 1, 2] * 2, torch.randn(2, 4), [0, 1],
                         dtype="float64")


@pytest.mark.parametrize("gauss_newton", [False, True])
def test_operations_that_vmap_does_not_know(gauss_newton):
    known, own = custom(lambda x: x ** 3), custom(Cube.apply)
    v = vectors(own)
    assert close(product(own, v, gauss_newton=gauss_newton),
                 product(known, v, gauss_newton=gauss_newton), 1e-12)


class Once(Cube):
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return 2 * g


def fused_attention(x):
    """Its fused kernel has one derivative only."""
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*(x[:, None, None],) * 3)[0][:, 0, 0]


@pytest.mark.parametrize("gauss_newton", [False, True])
@pytest.mark.parametrize("operation", [Once.apply, fused_attention])
def test_operations_that_cannot_be_differentiated_twice_are_refused(operation, gauss_newton):
    with pytest.raises(InvalidInput, match="no Hessian"):
        product(custom(operation), vectors(custom(operation)), gauss_newton=gauss_newton)


@pytest.mark.parametrize("gauss_newton", [False, True])
def test_hardsigmoid_of_which_torch_has_one_derivative(gauss_newton):
    known, own = custom(lambda x: (x / 6 + 0.5).clamp(0, 1)), custom(nn.Hardsigmoid())
    v = vectors(own)
    assert close(product(own, v, gauss_newton=gauss_newton),
                 product(known, v, gauss_newton=gauss_newton), 1e-12)


def test_attention_has_a_hessian():
    torch.manual_seed(0)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.head = nn.MultiheadAttention(4, 2, batch_first=True), nn.Linear(4, 3)

        def forward(self, x):
            return self.head(self.attention(x, x, x, need_weights=False)[0].mean(1))

    p = ModuleProblem(Attention(), torch.randn(4, 3, 4), [0, 1, 2, 0], torch.randn(2, 3, 4), [0, 1], dtype="float64")
    assert close(product(p, vectors(p)), finite_difference(p, vectors(p)), 1e-6)


def test_out_of_memory_goes_on_with_fewer_examples_and_says_so(monkeypatch):
    p = problem()
    build = hessian.hessian_map

    def scarce(problem, rows):
        if len(rows) > 2:
            raise torch.OutOfMemoryError("no memory")
        return build(problem, rows)

    expected = product(p, vectors(p))
    monkeypatch.setattr(hessian, "hessian_map", scarce)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert close(product(p, vectors(p)), expected, 1e-12)
    assert [str(w.message).split("with ")[1] for w in caught] == ["4 examples at once.", "2 examples at once."]


def test_out_of_memory_for_one_example_is_refused(monkeypatch):
    def none(problem, rows):
        raise torch.OutOfMemoryError("no memory")

    p = problem(n=1)
    graph_bytes(p)
    monkeypatch.setattr(hessian, "hessian_map", none)
    with pytest.raises(InvalidInput, match="last_block"):
        product(p, vectors(p))


def test_cancelling_stops_within_a_product():
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    p = problem()
    with pytest.raises(KeyboardInterrupt):
        product(p, vectors(p, 40), options=Options(budget=8 * graph_bytes(p), check=check))
    assert len(calls) == 3


def test_column_blocks_cover_all_columns_within_half_of_the_budget():
    p = problem()
    each = p.parameters * 8
    blocks = list(column_blocks(Hessian(p, options=Options(budget=2 * 3 * 4 * each)), 10, 3))
    assert [(b.start, b.stop) for b in blocks] == [(0, 4), (4, 8), (8, 10)]
    assert len(list(column_blocks(Hessian(p, options=Options(budget=1)), 3, 3))) == 3
