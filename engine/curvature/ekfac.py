r"""The inverse Gauss–Newton matrix by eigenvalue-corrected Kronecker factors, layer by layer.

With ā the layer's input (a 1 appended for the bias) and g_c the derivatives of R_c at its output (`loss_roots`):

    A = (1/n) Σ_i Σ_t ā_it ā_itᵀ = U_A diag(a) U_Aᵀ,   G = (1/n) Σ_i Σ_c Σ_t g_ict g_ictᵀ = U_G diag(g) U_Gᵀ
    Λ = (1/n) Σ_i Σ_c (U_Gᵀ (Σ_t g_ict ā_itᵀ) U_A)²,   entry by entry
    X = U_G [(U_Gᵀ V U_A) / (Λ + λ + damping)] U_Aᵀ

Λ is the diagonal of the layer's Gauss–Newton block in the basis U_G ⊗ U_A, the best one by Frobenius norm; the
blocks between layers are dropped. Parameters of other layers (normalisation, embeddings, shared weights) have
their diagonal of the Gauss–Newton matrix. Nothing is sampled while the classes are few: see `loss_roots`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.graphs import graph_bytes
from engine.curvature.layers import Captured, CurvatureLayer, captured, factored_layers
from engine.curvature.loss_roots import LossRoots
from engine.curvature.model import CurvedModule
from engine.curvature.solution import InverseHessian, Solution, column_blocks, measured
from engine.gradients.vectorised import along_signal, gradients_of

ROWS = {"cpu": 64, "cuda": 1024}
"""At most so many training examples at once."""
MATRICES = 6
"""Matrices (P, b) that an application of the inverse holds at once."""


@dataclass(frozen=True)
class Basis:
    """U_A (in, k), U_G (out, out) and Λ (out, k) of one layer.

    k = in, or the number of inputs ā_it of the training set where that is less: outside their span Λ is zero.
    """

    inputs: Tensor
    outputs: Tensor
    values: Tensor


@dataclass(frozen=True)
class EkfacFactors:
    """The eigenbases of the factored layers, and the diagonal (p,) of all other parameters by their name."""

    layers: tuple[CurvatureLayer, ...]
    bases: tuple[Basis, ...]
    diagonal: dict[str, Tensor]

    def inverse(self, problem: CurvedModule, vectors: Tensor, shift: float) -> Tensor:
        """(curvature + shift·I)⁻¹ V for V (P, b), shift > 0; 4·k·out·(in + out) operations a layer and column."""
        return self.applied(problem, vectors, lambda values: 1 / (values + shift))

    def applied(self, problem: CurvedModule, vectors: Tensor, read: Callable[[Tensor], Tensor]) -> Tensor:
        """f(curvature) V for V (P, b), f read off eigenvalues of any shape, entry by entry."""
        values = problem.network.unflatten(vectors.T)
        scaled = {name: values[name] * read(diagonal) for name, diagonal in self.diagonal.items()}
        for layer, basis in zip(self.layers, self.bases, strict=True):
            whole = layer.to_matrix(values)
            inner = whole @ basis.inputs
            turned = basis.outputs @ ((basis.outputs.T @ inner) * read(basis.values)) @ basis.inputs.T
            if basis.inputs.shape[1] < layer.inputs:
                turned += (whole - inner @ basis.inputs.T) * read(basis.values.new_zeros(()))
            scaled |= layer.from_matrix(turned)
        return problem.network.flatten(scaled).T


def solve(operator: GaussNewton, rhs: Tensor, *, columns: int | None = None) -> Solution:
    """EK-FAC (George et al. 2018; Grosse et al. 2023 for influence), rhs (P, b).

    The factors are made once a problem, in two passes of C + 1 gradients' work an example (a third one where some
    layer is not factored) and an eigendecomposition of side min(in, n·t) a layer, and serve every damping
    and behavior. The residual is measured against the Gauss–Newton matrix, which EK-FAC approximates, for
    `columns` columns (all where it is None). Raises `InvalidInput` where λ + δ is zero, because the
    Gauss–Newton matrix is singular.
    """
    problem, options = operator.problem, operator.options
    shift = problem.l2 + operator.damping
    if shift <= 0:
        raise InvalidInput("EK-FAC divides by l2 + damping, which is zero here; use an l2 or a damping above zero.")
    factored = factors(problem, options)
    x = torch.empty_like(rhs)
    for block in column_blocks(operator, rhs.shape[1], MATRICES):
        options.check()
        x[:, block] = factored.inverse(problem, rhs[:, block], shift)
    info = {"factored": 1.0, "layers": float(len(factored.layers)),
            "diagonal_parameters": float(sum(d.numel() for d in factored.diagonal.values()))}
    return measured(operator, x, rhs, info, columns=columns)


def factors(problem: CurvedModule, options: Options) -> EkfacFactors:
    """The factors of the whole training set, kept on the problem."""
    def build() -> tuple[tuple[Basis, ...], dict[str, Tensor]]:
        factored = factors_over([problem], options)
        return factored.bases, factored.diagonal

    return EkfacFactors(factored_layers(problem), *problem.memo("ekfac", build))  # of the model's own modules


def factors_over(problems: Sequence[CurvedModule], options: Options) -> EkfacFactors:
    """Of the mean Gauss–Newton matrix of several models that differ in θ_D alone."""
    points = [_Point(problem, factored_layers(problem), LossRoots(problem)) for problem in problems]
    weight = 1 / len(points)
    moments = [_moments(point, options) for point in points]
    bases = [(_input_basis(layer, _gathered([inputs[index] for inputs, _ in moments], layer)),
              _eigenvectors(weight * sum((g[index] for _, g in moments[1:]), start=moments[0][1][index])))
             for index, layer in enumerate(points[0].layers)]
    values = [torch.stack(each).mean(0) for each in
              zip(*(_corrected(point, bases, options) for point in points), strict=True)]
    layers = points[0].layers
    names = {name for layer in layers for name in layer.names}
    others = [name for name in problems[0].network.names if name not in names]
    diagonals = [_diagonal(point.problem, others, point.roots, options) for point in points] if others else []
    return EkfacFactors(layers, tuple(Basis(a, g, v) for (a, g), v in zip(bases, values, strict=True)),
                        {name: torch.stack([each[name] for each in diagonals]).mean(0) for name in others})


@dataclass(frozen=True)
class _Point:
    """A model, with what is read of it: the layers are its own modules."""

    problem: CurvedModule
    layers: tuple[CurvatureLayer, ...]
    roots: LossRoots


def _gathered(moments: list[Tensor], layer: CurvatureLayer) -> Tensor:
    """nA summed over models, or all their ā_it."""
    return sum(moments[1:], start=moments[0]) if len(moments[0]) == layer.inputs else torch.cat(moments)


def _passes(point: _Point, options: Options) -> Iterator[tuple[Captured, Iterator[Tensor]]]:
    """A forward pass and the directions R_c (b, …) a chunk of training examples; nothing where no layer is factored."""
    problem, layers = point.problem, point.layers
    if not layers:
        return
    shapes = [(t, layer.outputs, layer.inputs) for layer, t in zip(layers, _positions(problem, layers), strict=True)]
    each = sum(4 * t * (out + inn) + (t > 1) * out * inn for t, out, inn in shapes) * _item(problem)
    for rows in _chunks(problem, each + graph_bytes(problem), options):
        options.check()
        seen = captured(problem, layers, problem.x[rows])
        yield seen, point.roots(rows, seen.logits)


def _positions(problem: CurvedModule, layers: tuple[CurvatureLayer, ...]) -> list[int]:
    return [a.shape[1] for a in captured(problem, layers, problem.x[:1]).inputs]


def _moments(point: _Point, options: Options) -> tuple[list[Tensor], list[Tensor]]:
    """nA (in, in), or all ā_it themselves (n·t, in) where they are fewer, and G (out, out) a layer."""
    problem, layers = point.problem, point.layers
    zeros = problem.theta.new_zeros
    few = [problem.n * t < layer.inputs for layer, t in zip(layers, _positions(problem, layers), strict=True)]
    gathered: list[list[Tensor] | Tensor] = [[] if each else zeros(layer.inputs, layer.inputs)
                                             for each, layer in zip(few, layers, strict=True)]
    derivatives = [zeros(layer.outputs, layer.outputs) for layer in layers]
    for seen, root in _passes(point, options):
        for moments, inputs in zip(gathered, seen.inputs, strict=True):
            rows = inputs.flatten(0, 1)
            moments.append(rows) if isinstance(moments, list) else moments.addmm_(rows.T, rows)
        for direction in root:
            for g, derived in zip(derivatives, seen.pull(direction), strict=True):
                rows = derived.flatten(0, 1)
                g.addmm_(rows.T, rows, alpha=1 / problem.n)
    return [torch.cat(moments) if isinstance(moments, list) else moments for moments in gathered], derivatives


def _input_basis(layer: CurvatureLayer, gathered: Tensor) -> Tensor:
    """U_A (in, k): within the span of the inputs where they are fewer than its dimensions."""
    if len(gathered) == layer.inputs:
        return _eigenvectors(gathered)
    span, coordinates = torch.linalg.qr(gathered.T.double())
    return (span @ torch.linalg.eigh(coordinates @ coordinates.T).eigenvectors).to(gathered.dtype)


def _eigenvectors(matrix: Tensor) -> Tensor:
    """In float64: in float32 the eigenvectors of a nearly singular matrix are not orthogonal enough."""
    return torch.linalg.eigh(matrix.double()).eigenvectors.to(matrix.dtype)


def _corrected(point: _Point, bases: list[tuple[Tensor, Tensor]], options: Options) -> list[Tensor]:
    """Λ (out, in) a layer."""
    problem = point.problem
    values = [problem.theta.new_zeros(len(g), a.shape[1]) for a, g in bases]
    for seen, root in _passes(point, options):
        inputs = [a @ u for a, (u, _) in zip(seen.inputs, bases, strict=True)]
        for direction in root:
            for value, a, g, (_, u) in zip(values, inputs, seen.pull(direction), bases, strict=True):
                value += _squared_gradients(g @ u, a) / problem.n
    return values


def _squared_gradients(g: Tensor, a: Tensor) -> Tensor:
    """Σ_i (Σ_t g_it a_itᵀ)², entry by entry: g (b, t, out), a (b, t, in) -> (out, in)."""
    if g.shape[1] == 1:
        return g[:, 0].square().T @ a[:, 0].square()
    return torch.bmm(g.transpose(1, 2), a).square_().sum(0)


def _chunks(problem: CurvedModule, bytes_each: int, options: Options) -> tuple[Tensor, ...]:
    size = min(ROWS[problem.device.type], max(1, options.budget // 4 // bytes_each))
    return torch.arange(problem.n, device=problem.device).split(size)


def _item(problem: CurvedModule) -> int:
    return problem.theta.element_size()


def _diagonal(problem: CurvedModule, names: list[str], roots: LossRoots, options: Options) -> dict[str, Tensor]:
    """(1/n) Σ_i Σ_c (J_iᵀ R_ic)² of the named parameters, example by example."""
    own = problem.network.unflatten(problem.theta)
    sizes = [own[name].numel() for name in names]
    total = problem.theta.new_zeros(sum(sizes))
    for rows in _chunks(problem, 3 * sum(sizes) * _item(problem), options):
        with torch.no_grad():
            outputs = problem.link.outputs(problem.x[rows], own)
        for direction in roots(rows, outputs):
            gradients = gradients_of(problem.network, problem.x[rows], direction, along_signal,
                                     budget=options.budget // 4, names=names, link=problem.link, check=options.check)
            total += gradients.square().sum(0) / problem.n
    return {name: own_part.view(own[name].shape) for name, own_part in zip(names, total.split(sizes), strict=True)}


EKFAC = InverseHessian("ekfac", "EK-FAC", "George et al. 2018; Grosse et al. 2023", solve, (GaussNewton,),
                       products=2, known=("Influence function (EK-FAC)", "Grosse et al. 2023", "EK-FAC"))
