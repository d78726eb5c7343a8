"""LoGra and FactGraSS against the projection and the empirical Fisher matrix written out as dense matrices."""

import pytest
import torch

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.factgrass import FACTGRASS
from engine.curvature.layers import factored_layers
from engine.curvature.logra import LOGRA
from engine.gradients.layer_projection import LayerProjection, gaussian, random_mask, random_sketch
from tests.engine.curvature.networks import close, logits, problem, solve, vectors
from tests.engine.curvature.test_kronecker import of_layer

pytestmark = pytest.mark.filterwarnings("ignore:The Hessian plus")
SEED = 3
LIKE = torch.zeros((), dtype=torch.float64)
SMALL = {"logra": (LOGRA, {"rank": 2}), "factgrass": (FACTGRASS, {"dimension": 4})}
WHOLE = {"logra": (LOGRA, {"rank": 256}), "factgrass": (FACTGRASS, {"dimension": 65_536})}


def gradients(p):
    """(n, P), example by example."""
    return torch.stack([torch.func.grad(lambda t, i=i: p.loss(logits(p, t, [i]), p.y[[i]])[0])(p.theta)
                        for i in range(p.n)])


def projections(p, name):
    """R (k, out · in) of every layer, with the numbers that the seed gives."""
    layers, dense = factored_layers(p), []
    for index, layer in enumerate(layers):
        generator = torch.Generator().manual_seed(SEED * len(layers) + index)
        if name == "logra":
            sides = [gaussian(size, 2, generator, LIKE).matrix for size in (layer.outputs, layer.inputs)]
            dense.append(torch.kron(*sides))
            continue
        masks = []
        for size in (layer.outputs, layer.inputs):
            mask = torch.zeros(min(4, size), size, dtype=torch.float64)
            for row, column in enumerate(torch.randperm(size, generator=generator)[:4].sort().values):
                mask[row, column] = (size / len(mask)) ** 0.5
            masks.append(mask)
        mixed = torch.kron(*masks)
        sketch = torch.eye(len(mixed), dtype=torch.float64)
        if len(mixed) > 4:
            bucket = torch.randint(4, (len(mixed),), generator=generator)
            sign = 2 * torch.randint(2, (len(mixed),), generator=generator) - 1
            sketch = torch.zeros(4, len(mixed), dtype=torch.float64)
            sketch[bucket, torch.arange(len(mixed))] = sign.double()
        dense.append(sketch @ mixed)
    return dense


def expected(p, dense, damping):
    """Rᵀ (R F Rᵀ + δI)⁻¹ R v, layer by layer, F = (1/n) Σ g_i g_iᵀ; zero for all other parameters."""
    x, rows = torch.zeros_like(vectors(p)), gradients(p)
    for layer, r in zip(factored_layers(p), dense, strict=True):
        index = of_layer(p, layer).flatten()
        own = rows[:, index] @ r.T
        small = own.T @ own / p.n
        delta = p.l2 + (damping or 0.1 * small.trace() / len(small))
        damped = small + delta * torch.eye(len(small), dtype=torch.float64)
        x[index] = r.T @ torch.linalg.solve(damped, r @ vectors(p)[index])
    return x


@pytest.mark.parametrize("n", [3, 9])
@pytest.mark.parametrize("damping", [0.2, 0.0])
@pytest.mark.parametrize("network", ["mlp", "residual", "convolutions"])
@pytest.mark.parametrize("name", SMALL)
def test_the_formula_with_the_projection_written_out(name, network, damping, n):
    p, (solver, settings) = problem(network, n=n), SMALL[name]
    x = solve(solver, p, vectors(p), damping, Options(seed=SEED), **settings).x
    assert close(x, expected(p, projections(p, name), damping), 1e-8)


@pytest.mark.parametrize("name", WHOLE)
def test_without_projection_it_is_the_fisher_matrix_of_each_layer(name):
    p, (solver, settings) = problem("convolutions"), WHOLE[name]
    identities = [torch.eye(layer.outputs * layer.inputs, dtype=torch.float64) for layer in factored_layers(p)]
    found = solve(solver, p, vectors(p), 0.2, **settings)
    assert close(found.x, expected(p, identities, 0.2), 1e-8)
    assert found.info["parameters_left_out"] == p.parameters - sum(map(len, identities))


def test_both_sides_keep_inner_products_in_expectation():
    """E RᵀR = I, over 4,000 draws."""
    generator, size, count = torch.Generator().manual_seed(0), (3, 4), 4_000
    for drawn in (lambda: LayerProjection(*(gaussian(d, 2, generator, LIKE) for d in size)),
                  lambda: LayerProjection(*(random_mask(d, 2, generator, LIKE) for d in size),
                                          random_sketch(4, 3, generator, LIKE))):
        total, units = torch.zeros(12, 12, dtype=torch.float64), torch.eye(12, dtype=torch.float64).view(12, *size)
        for _ in range(count):
            total += (r := drawn().of(units)) @ r.T / count
        assert (total - torch.eye(12)).abs().max() < 0.15


def test_factors_whole_gradients_and_the_transpose_agree():
    generator = torch.Generator().manual_seed(1)
    g, a = torch.randn(5, 3, 6, dtype=torch.float64), torch.randn(5, 3, 7, dtype=torch.float64)
    whole = torch.einsum("bto,bti->boi", g, a)
    for r in (LayerProjection(gaussian(6, 2, generator, LIKE), gaussian(7, 3, generator, LIKE)),
              LayerProjection(random_mask(6, 4, generator, LIKE), random_mask(7, 9, generator, LIKE),
                              random_sketch(28, 5, generator, LIKE))):
        small = torch.randn(5, r.count, dtype=torch.float64)
        assert close(r.of_factors(g, a), r.of(whole), 1e-12)
        assert close((r.of(whole) * small).sum(1), (whole * r.transposed(small)).sum((1, 2)), 1e-10)


def test_what_has_no_layer_to_project_is_refused():
    p = problem("convolutions", parameters=r"^1\.")
    with pytest.raises(InvalidInput, match="LoGra projects the gradients of linear layers"):
        solve(LOGRA, p, vectors(p), 0.1)
