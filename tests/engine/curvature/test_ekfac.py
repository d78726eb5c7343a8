"""EK-FAC against dense Gauss–Newton matrices, where it is exact and entry by entry where it is not."""

import pytest
import torch
from torch import nn

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature import ekfac, kronecker, loss_roots
from engine.curvature.layers import captured, factored_layers
from engine.curvature.loss_roots import LossRoots
from engine.problems.module import ModuleProblem
from tests.engine.curvature.networks import LOSSES, MODULES, close, dense_gauss_newton, logits, problem, solve, vectors

pytestmark = pytest.mark.filterwarnings("ignore:The Hessian plus")
FACTORED = {"mlp": ["0.weight", "2.weight"], "linear": ["1.weight"],
            "convolutions": ["0.weight", "4.weight", "8.weight"],
            "residual": ["embed.weight", "twice.weight", "head.weight"]}


def exact_inverse(p, damping):
    return torch.linalg.inv(dense_gauss_newton(p) + damping * torch.eye(p.parameters, dtype=torch.float64))


def uniform():
    """Softmax regression at zero weights: every p_i is equal."""
    p = problem("linear")
    p.network.module[1].weight.zero_()
    p.network.theta = torch.zeros_like(p.theta)
    return p


@pytest.mark.parametrize("p", [uniform(), problem("linear", n=1), problem("linear", n=1, loss="squared_error")])
def test_exact_inverse_of_one_linear_layer(p):
    result = solve(ekfac.EKFAC, p, vectors(p), 0.2)
    assert close(result.x, exact_inverse(p, 0.2) @ vectors(p), 1e-10)
    assert (result.residual < 1e-10).all()


def test_one_input_with_a_bias_is_exact_in_every_layer_by_itself():
    for selection in (r"^0\.", r"^2\."):
        p = problem("mlp", n=1, parameters=selection)
        assert close(solve(ekfac.EKFAC, p, vectors(p), 0.2).x, exact_inverse(p, 0.2) @ vectors(p), 1e-10)


@pytest.mark.parametrize("name", MODULES)
def test_which_layers_are_factored(name):
    assert [layer.weight for layer in factored_layers(problem(name))] == FACTORED[name]


@pytest.mark.parametrize("loss", ["cross_entropy", "squared_error"])
@pytest.mark.parametrize("name", MODULES)
def test_corrected_eigenvalues_are_the_diagonal_in_an_orthogonal_basis(name, loss):
    """Λ = diag(Qᵀ GN Q) with Q = U_G ⊗ U_A, and the plain diagonal for all other parameters."""
    p = problem(name, loss=loss)
    made = ekfac.factors(p, Options())
    dense = dense_gauss_newton(p) - p.l2 * torch.eye(p.parameters, dtype=torch.float64)
    for layer, basis in zip(made.layers, made.bases, strict=True):
        for u in (basis.inputs, basis.outputs):
            assert close(u.T @ u, torch.eye(u.shape[1], dtype=torch.float64), 1e-12)
        expected = torch.empty_like(basis.values)
        for i in range(expected.shape[0]):
            for j in range(expected.shape[1]):
                direction = torch.zeros(1, p.parameters, dtype=torch.float64)
                parts = layer.from_matrix(torch.outer(basis.outputs[:, i], basis.inputs[:, j])[None])
                for key, value in parts.items():
                    direction[0, p.network.slices[key]] = value.flatten()
                expected[i, j] = (direction @ dense @ direction.T).item()
        assert close(basis.values, expected, 1e-9)
    for key, value in made.diagonal.items():
        part = p.network.slices[key]
        assert close(value.flatten(), dense.diagonal()[part], 1e-9)


def test_basis_diagonalises_the_covariances():
    p = problem("convolutions")
    made = ekfac.factors(p, Options())
    found = ekfac._moments(kronecker.Derivatives(kronecker.Point.of(p), Options()))
    for a, g, basis in zip(*found, made.bases, strict=True):
        a = a if len(a) == a.shape[1] else a.T @ a
        for matrix, u in ((a, basis.inputs), (g, basis.outputs)):
            turned = u.T @ matrix @ u
            assert close(torch.diag(turned.diagonal()), turned, 1e-10)


@pytest.mark.parametrize(("hold", "again"), [(0, True), (2_000, True), (1 << 30, False)])
def test_derivatives_are_held_where_all_of_them_fit(hold, again, monkeypatch):
    seen = []
    monkeypatch.setattr(kronecker, "ROWS", {"cpu": 2})
    monkeypatch.setattr(kronecker, "captured", lambda *given: seen.append(1) or captured(*given))
    derivatives = kronecker.Derivatives(kronecker.Point.of(problem("convolutions")), Options(), hold)
    first, second = ([(inputs, list(directions)) for inputs, directions in derivatives] for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    before = seen.copy()
    list(derivatives)
    assert bool(len(seen) - len(before)) == again
    assert bool(derivatives.held) != again


def test_fewer_inputs_than_dimensions_give_the_same_inverse(monkeypatch):
    p = problem("convolutions", n=5)
    thin = ekfac.factors(p, Options())
    assert [len(basis.inputs.T) for basis in thin.bases] == [10, 4, 5]
    monkeypatch.setattr(kronecker, "positions", lambda problem, layers: [1000] * len(layers))
    full = ekfac.factors(problem("convolutions", n=5), Options())
    assert [len(basis.inputs.T) for basis in full.bases] == [10, 4, 17]
    assert close(thin.inverse(p, vectors(p), 0.3), full.inverse(p, vectors(p), 0.3), 1e-10)


def test_inputs_and_derivatives_give_per_example_gradients():
    for name in MODULES:
        p = problem(name)
        found = factored_layers(p)
        seen = captured(p, found, p.x)
        signal = torch.randn(p.n, 3, dtype=torch.float64)
        for layer, a, g in zip(found, seen.inputs, seen.pull(signal), strict=True):
            parts = layer.from_matrix(torch.einsum("bto,bti->boi", g, a))
            for i in range(p.n):
                flat = torch.func.grad(lambda t, i=i, p=p, s=signal: (logits(p, t, [i]) * s[i]).sum())(p.theta)
                for key, value in parts.items():
                    assert close(value[i].flatten(), flat[p.network.slices[key]], 1e-10)


def test_squared_gradients_match_a_loop():
    for t in (1, 4):
        g, a = torch.randn(5, t, 2, dtype=torch.float64), torch.randn(5, t, 3, dtype=torch.float64)
        expected = sum((sum(torch.outer(g[i, k], a[i, k]) for k in range(t))) ** 2 for i in range(5))
        assert close(ekfac._squared_gradients(g, a), expected, 1e-12)


@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("name", ["convolutions", "residual"])
def test_inverse_is_that_of_the_matrix_it_stands_for(name, n):
    """(Q diag(Λ) Qᵀ + shift·I) x = v, layer by layer."""
    p = problem(name, n=n)
    made = ekfac.factors(p, Options())
    x = made.inverse(p, vectors(p), 0.3)
    values = p.network.unflatten(x.T)
    back = {key: values[key] * (diagonal + 0.3) for key, diagonal in made.diagonal.items()}
    for layer, basis in zip(made.layers, made.bases, strict=True):
        whole = layer.to_matrix(values)
        inner = basis.outputs.T @ whole @ basis.inputs * basis.values
        back |= layer.from_matrix(basis.outputs @ inner @ basis.inputs.T + 0.3 * whole)
    assert close(p.network.flatten(back).T, vectors(p), 1e-10)


@pytest.mark.parametrize("size", [1, 4])
def test_chunks_do_not_change_the_factors(size, monkeypatch):
    whole = solve(ekfac.EKFAC, problem("convolutions"), vectors(problem("convolutions")), 0.2).x
    monkeypatch.setitem(kronecker.ROWS, "cpu", size)
    assert close(solve(ekfac.EKFAC, problem("convolutions"), vectors(problem("convolutions")), 0.2).x, whole, 1e-8)


def test_factors_are_made_once_for_every_damping(monkeypatch):
    p = problem()
    solve(ekfac.EKFAC, p, vectors(p), 0.2)
    monkeypatch.setattr(ekfac, "factors_over", None)
    assert not close(solve(ekfac.EKFAC, p, vectors(p), 0.4).x, solve(ekfac.EKFAC, p, vectors(p), 0.2).x, 1e-3)


@pytest.mark.parametrize("selection, factored, diagonal", [
    ("last_layer", 1, 0), (r"0\.bias|8\.weight", 1, 2), (r"1\.", 0, 4), ("weight", 3, 6)])
def test_selected_parameters(selection, factored, diagonal):
    p = problem("convolutions", parameters=selection)
    result = solve(ekfac.EKFAC, p, vectors(p), 0.2)
    assert (result.info["layers"], result.info["diagonal_parameters"]) == (factored, diagonal)
    assert (result.residual < 1).all()


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.head(self.second(torch.tanh(self.first(x))))


def test_shared_weights_have_their_diagonal():
    torch.manual_seed(0)
    p = ModuleProblem(Tied(), torch.randn(6, 4), [0, 1, 2] * 2, torch.randn(2, 4), [0, 1], dtype="float64", l2=0.1)
    made = ekfac.factors(p, Options())
    dense = dense_gauss_newton(p).diagonal() - p.l2
    assert [layer.weight for layer in made.layers] == ["head.weight"]
    assert list(made.diagonal) == ["first.weight", "first.bias", "second.bias"]
    for key, value in made.diagonal.items():
        assert close(value.flatten(), dense[p.network.slices[key]], 1e-10)


def root(roots, rows, f):
    """(b, C, k)."""
    return torch.stack([*roots(rows, f)], -1)


@pytest.mark.parametrize("loss", LOSSES)
def test_roots_of_the_loss_curvature(loss):
    p = problem(loss=loss)
    f = torch.randn(p.n, 3, dtype=torch.float64)
    roots = root(LossRoots(p), torch.arange(p.n), f)
    for i in range(p.n):
        curve = torch.func.hessian(lambda z, i=i: p.loss(z[None], p.y[[i]])[0])(f[i])
        values, vectors_ = torch.linalg.eigh(curve)
        clamped = (vectors_ * values.clamp_min(0)) @ vectors_.T
        assert close(roots[i] @ roots[i].T, clamped, 1e-10)


@pytest.mark.slow
def test_sampled_labels_have_the_right_expectation_and_are_drawn_once(monkeypatch):
    monkeypatch.setattr(loss_roots, "EXACT_OUTPUTS", 0)
    monkeypatch.setattr(loss_roots, "SAMPLED_LABELS", 40_000)
    p = problem()
    f = logits(p, p.theta)
    roots = LossRoots(p)
    found = root(roots, torch.arange(p.n), f)
    q = f.softmax(-1)
    expected = torch.diag_embed(q) - q[:, :, None] * q[:, None]
    assert close(found @ found.transpose(1, 2), expected, 0.02)
    assert torch.equal(root(roots, torch.tensor([4, 2]), f[[4, 2]]), found[[4, 2]])
    assert torch.equal(root(LossRoots(p), torch.arange(p.n), f), found)


def test_no_damping_at_all_is_refused():
    p = problem(l2=0.0)
    with pytest.raises(InvalidInput, match="above zero"):
        solve(ekfac.EKFAC, p, vectors(p), 0.0)
