"""DataInf against an explicit average of dense inverses."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.curvature import datainf
from tests.engine.curvature.networks import close, logits, problem, solve, vectors

GROUPS = {"mlp": [("0.weight", "0.bias"), ("2.weight", "2.bias")],
          "convolutions": [("0.weight", "0.bias"), ("1.weight", "1.bias"), ("4.weight",), ("6.weight", "6.bias"),
                           ("8.weight", "8.bias")]}


def explicit(p, groups, rhs, damping):
    """Σ over layers of (1/n) Σ_i (g_i g_iᵀ + δI)⁻¹ v, one example and layer at a time."""
    gradients = [torch.func.grad(lambda t, i=i: p.loss(logits(p, t, [i]), p.y[[i]])[0])(p.theta) for i in range(p.n)]
    found, start = torch.zeros_like(rhs), 0
    for group in groups:
        size = sum(dict(p.network.module.named_parameters())[name].numel() for name in group)
        part = slice(start, start + size)
        start += size
        own = 0.1 * sum(g[part].square().sum() for g in gradients) / p.n / size
        delta = p.l2 + (damping if damping > 0 else own)
        for g in gradients:
            matrix = torch.outer(g[part], g[part]) + delta * torch.eye(size, dtype=g.dtype)
            found[part] += torch.linalg.solve(matrix, rhs[part]) / p.n
    return found


@pytest.mark.filterwarnings("ignore:The Hessian plus")
@pytest.mark.parametrize("damping", [0.0, 0.1])
@pytest.mark.parametrize("name", GROUPS)
def test_explicit_average(name, damping, monkeypatch):
    monkeypatch.setattr(datainf, "ROWS", 4)
    p = problem(name, loss="squared_error")
    result = solve(datainf.DATAINF, p, vectors(p), damping)
    assert close(result.x, explicit(p, GROUPS[name], vectors(p), damping), 1e-10)
    assert result.info["layers"] == len(GROUPS[name])


@pytest.mark.filterwarnings("ignore:The Hessian plus")
def test_one_example_and_one_layer_give_the_exact_inverse():
    p = problem("linear", n=1)
    g = torch.func.grad(lambda t: p.loss(logits(p, t), p.y).sum())(p.theta)
    matrix = torch.outer(g, g) + (0.2 + p.l2) * torch.eye(p.parameters, dtype=torch.float64)
    assert close(solve(datainf.DATAINF, p, vectors(p), 0.2).x, torch.linalg.solve(matrix, vectors(p)), 1e-12)


def test_norms_are_kept_for_the_next_behavior(monkeypatch):
    p = problem(n=30)
    passes = []
    gradients = datainf._gradients
    monkeypatch.setattr(datainf, "_gradients", lambda *a: passes.append(1) or gradients(*a))
    for _ in range(2):
        with pytest.warns(UserWarning):
            solve(datainf.DATAINF, problem(l2=0.0), vectors(p), 0.0)
    passes.clear()
    for _ in range(2):
        datainf._dampings(p, datainf.layer_slices(p), 0.0, datainf.Options())
    assert len(passes) == 1


def test_layers_without_gradient_need_a_damping():
    p = problem("linear", l2=0.0)
    p.x.zero_()
    with pytest.raises(InvalidInput, match="above zero"):
        solve(datainf.DATAINF, p, vectors(p), 0.0)
