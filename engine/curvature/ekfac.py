r"""The inverse Gauss–Newton matrix by eigenvalue-corrected Kronecker factors, layer by layer.

With ā the layer's input and g_c the derivatives at its output, as `kronecker` has them:

    A = (1/n) Σ_i Σ_t ā_it ā_itᵀ = U_A diag(a) U_Aᵀ,   G = (1/n) Σ_i Σ_c Σ_t g_ict g_ictᵀ = U_G diag(g) U_Gᵀ
    Λ = (1/n) Σ_i Σ_c (U_Gᵀ (Σ_t g_ict ā_itᵀ) U_A)²,   entry by entry

Λ is the diagonal of the layer's Gauss–Newton block in the basis U_G ⊗ U_A, the best one by Frobenius norm.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from engine.basics.options import Options
from engine.curvature import kronecker
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.kronecker import Basis, Derivatives, KroneckerFactors, Point
from engine.curvature.layers import CurvatureLayer, factored_layers
from engine.curvature.model import CurvedModule
from engine.curvature.solution import InverseHessian, Solution


def solve(operator: GaussNewton, rhs: Tensor, *, columns: int | None = None) -> Solution:
    """EK-FAC (George et al. 2018; Grosse et al. 2023 for influence), rhs (P, b), as `kronecker.solved` says.

    The factors are made once a problem, in a pass of C + 1 gradients' work an example (two where its derivatives do not
    fit in an eighth of the budget; one more where some layer is not factored) and an eigendecomposition of side
    min(in, n·t) a layer, and serve every damping and behavior.
    """
    return kronecker.solved(operator, rhs, "EK-FAC", lambda: factors(operator.problem, operator.options), columns)


def factors(problem: CurvedModule, options: Options) -> KroneckerFactors:
    """The factors of the whole training set, kept on the problem."""
    def build() -> tuple[tuple[Basis, ...], dict[str, Tensor]]:
        factored = factors_over([problem], options)
        return factored.bases, factored.diagonal

    return KroneckerFactors(factored_layers(problem), *problem.memo("ekfac", build))  # of the model's own modules


def factors_over(problems: Sequence[CurvedModule], options: Options) -> KroneckerFactors:
    """Of the mean Gauss–Newton matrix of several models that differ in θ_D alone."""
    points = [Point.of(problem) for problem in problems]
    weight = 1 / len(points)
    derivatives = [Derivatives(point, options, options.budget // 8 // len(points)) for point in points]
    moments = [_moments(own) for own in derivatives]
    bases = [(_input_basis(layer, _gathered([inputs[index] for inputs, _ in moments], layer)),
              _eigenvectors(weight * sum((g[index] for _, g in moments[1:]), start=moments[0][1][index])))
             for index, layer in enumerate(points[0].layers)]
    values = [torch.stack(each).mean(0) for each in
              zip(*(_corrected(own, bases) for own in derivatives), strict=True)]
    return KroneckerFactors(points[0].layers, tuple(Basis(a, g, v) for (a, g), v in zip(bases, values, strict=True)),
                            kronecker.diagonal_of(points, options))


def _gathered(moments: list[Tensor], layer: CurvatureLayer) -> Tensor:
    """nA summed over models, or all their ā_it."""
    return sum(moments[1:], start=moments[0]) if len(moments[0]) == layer.inputs else torch.cat(moments)


def _moments(derivatives: Derivatives) -> tuple[list[Tensor], list[Tensor]]:
    """nA (in, in), or all ā_it themselves (n·t, in) where they are fewer, and G (out, out) a layer."""
    problem, layers = derivatives.point.problem, derivatives.point.layers
    zeros = problem.theta.new_zeros
    few = [problem.n * t < layer.inputs
           for layer, t in zip(layers, kronecker.positions(problem, layers), strict=True)]
    gathered: list[list[Tensor] | Tensor] = [[] if each else zeros(layer.inputs, layer.inputs)
                                             for each, layer in zip(few, layers, strict=True)]
    outputs = [zeros(layer.outputs, layer.outputs) for layer in layers]
    for inputs, directions in derivatives:
        for moments, a in zip(gathered, inputs, strict=True):
            rows = a.flatten(0, 1)
            moments.append(rows) if isinstance(moments, list) else moments.addmm_(rows.T, rows)
        for derived in directions:
            for total, g in zip(outputs, derived, strict=True):
                rows = g.flatten(0, 1)
                total.addmm_(rows.T, rows, alpha=1 / problem.n)
    return [torch.cat(moments) if isinstance(moments, list) else moments for moments in gathered], outputs


def _input_basis(layer: CurvatureLayer, gathered: Tensor) -> Tensor:
    """U_A (in, k): within the span of the inputs where they are fewer than its dimensions."""
    if len(gathered) == layer.inputs:
        return _eigenvectors(gathered)
    span, coordinates = torch.linalg.qr(gathered.T.double())
    return (span @ torch.linalg.eigh(coordinates @ coordinates.T).eigenvectors).to(gathered.dtype)


def _eigenvectors(matrix: Tensor) -> Tensor:
    """In float64: in float32 the eigenvectors of a nearly singular matrix are not orthogonal enough."""
    return torch.linalg.eigh(matrix.double()).eigenvectors.to(matrix.dtype)


def _corrected(derivatives: Derivatives, bases: list[tuple[Tensor, Tensor]]) -> list[Tensor]:
    """Λ (out, in) a layer."""
    problem = derivatives.point.problem
    values = [problem.theta.new_zeros(len(g), a.shape[1]) for a, g in bases]
    for inputs, directions in derivatives:
        turned = [a @ u for a, (u, _) in zip(inputs, bases, strict=True)]
        for derived in directions:
            for value, a, g, (_, u) in zip(values, turned, derived, bases, strict=True):
                value += _squared_gradients(g @ u, a) / problem.n
    return values


def _squared_gradients(g: Tensor, a: Tensor) -> Tensor:
    """Σ_i (Σ_t g_it a_itᵀ)², entry by entry: g (b, t, out), a (b, t, in) -> (out, in)."""
    if g.shape[1] == 1:
        return g[:, 0].square().T @ a[:, 0].square()
    return torch.bmm(g.transpose(1, 2), a).square_().sum(0)


EKFAC = InverseHessian("ekfac", "EK-FAC", "George et al. 2018; Grosse et al. 2023", solve, (GaussNewton,),
                       products=2, factored=True, known=("Influence function (EK-FAC)", "Grosse et al. 2023", "EK-FAC"))
