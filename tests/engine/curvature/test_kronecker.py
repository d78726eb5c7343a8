"""TKFAC and Shampoo against dense matrices written out example by example, direction by direction."""

import pytest
import torch
from torch.func import hessian, jacrev

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import kronecker, shampoo, tkfac
from engine.curvature.layers import captured
from tests.engine.curvature.networks import close, dense_gauss_newton, logits, problem, solve, vectors

pytestmark = pytest.mark.filterwarnings("ignore:The Hessian plus")
SOLVERS = {"tkfac": (tkfac, tkfac.TKFAC), "shampoo": (shampoo, shampoo.SHAMPOO)}


def root(matrix):
    """The symmetric one."""
    values, vectors_ = torch.linalg.eigh(matrix)
    return (vectors_ * values.clamp_min(0).sqrt()) @ vectors_.T


def directions(p):
    """(n, C, C): R_i with R_i R_iᵀ = ∂²ℓ/∂f², one column a direction."""
    roots = []
    for output, label in zip(logits(p, p.theta), p.y, strict=True):
        curve = hessian(lambda f, y=label: p.loss(f[None], y[None])[0])(output)
        roots.append(root(curve))
    return torch.stack(roots)


def of_layer(p, layer):
    """Where a layer's matrix lies in θ, (out, in)."""
    numbers = torch.arange(p.parameters, dtype=torch.float64)[None]
    return layer.to_matrix(p.network.unflatten(numbers))[0].long()


def whole_gradients(p, layer):
    """D_ic (out, in) of every example and direction, by plain autograd."""
    jacobians, index = jacrev(lambda t: logits(p, t))(p.theta), of_layer(p, layer)
    return [(jacobian.T @ column)[index] for jacobian, own in zip(jacobians, directions(p), strict=True)
            for column in own.T]


def shampoo_block(p, layer):
    """L^½ ⊗ R^½."""
    gradients = whole_gradients(p, layer)
    left, right = sum(d @ d.T for d in gradients) / p.n, sum(d.T @ d for d in gradients) / p.n
    return torch.kron(root(left), root(right))


def tkfac_block(p, layer):
    """G ⊗ A / tr A, position by position."""
    seen = captured(p, (layer,), p.x)
    a_sum, g_sum = (torch.zeros(size, size, dtype=torch.float64) for size in (layer.inputs, layer.outputs))
    for column in directions(p).unbind(2):
        for a_rows, g_rows in zip(seen.inputs[0], seen.pull(column)[0], strict=True):
            for a, g in zip(a_rows, g_rows, strict=True):
                a_sum += g @ g * torch.outer(a, a) / p.n
                g_sum += a @ a * torch.outer(g, g) / p.n
    assert close(a_sum.trace(), g_sum.trace(), 1e-12)
    return torch.kron(g_sum, a_sum) / a_sum.trace()


BLOCKS = {"tkfac": tkfac_block, "shampoo": shampoo_block}


@pytest.mark.parametrize("network", ["mlp", "residual", "convolutions"])
@pytest.mark.parametrize("name", SOLVERS)
def test_the_inverse_is_that_of_the_dense_matrix(name, network):
    room, solver = SOLVERS[name]
    p = problem(network)
    made = room.factors(p, Options())
    dense = torch.diag(dense_gauss_newton(p).diagonal() - p.l2)
    for layer in made.layers:
        index = of_layer(p, layer).flatten()
        dense[index[:, None], index] = BLOCKS[name](p, layer)
    expected = torch.linalg.solve(dense + (p.l2 + 0.2) * torch.eye(p.parameters, dtype=torch.float64), vectors(p))
    assert close(solve(solver, p, vectors(p), 0.2).x, expected, 1e-7)


@pytest.mark.parametrize("selection", [r"^0\.", r"^2\."])
@pytest.mark.parametrize("name", SOLVERS)
def test_one_direction_is_exact(name, selection, monkeypatch):
    """With one example and one R_c the block has rank one, and both are that very matrix."""
    p = problem("mlp", n=1, parameters=selection)
    monkeypatch.setattr(kronecker.LossRoots, "__call__", lambda self, rows, f: iter([f.new_tensor([[0.3, -0.5, 0.2]])]))
    slope = jacrev(lambda t: logits(p, t))(p.theta)[0].T @ p.theta.new_tensor([0.3, -0.5, 0.2])
    dense = torch.outer(slope, slope) + (p.l2 + 0.2) * torch.eye(p.parameters, dtype=torch.float64)
    assert close(solve(SOLVERS[name][1], p, vectors(p), 0.2).x, torch.linalg.solve(dense, vectors(p)), 1e-7)


def test_tkfac_keeps_the_trace_of_a_layer_on_vectors():
    p = problem("mlp", n=12)
    dense = dense_gauss_newton(p) - p.l2 * torch.eye(p.parameters, dtype=torch.float64)
    made = tkfac.factors(p, Options())
    for layer, basis in zip(made.layers, made.bases, strict=True):
        index = of_layer(p, layer).flatten()
        assert close(basis.values.sum(), dense[index, index].sum(), 1e-10)


@pytest.mark.parametrize("name", SOLVERS)
def test_chunks_do_not_change_the_factors_and_no_damping_is_refused(name, monkeypatch):
    solver = SOLVERS[name][1]
    whole = solve(solver, problem("convolutions"), vectors(problem("convolutions")), 0.2).x
    monkeypatch.setitem(kronecker.ROWS, "cpu", 4)
    assert close(solve(solver, problem("convolutions"), vectors(problem("convolutions")), 0.2).x, whole, 1e-8)
    p = problem("mlp", l2=0.0)
    with pytest.raises(InvalidInput, match=f"{solver.title} divides by l2"):
        solve(solver, p, vectors(p), 0.0)
