r"""Curvature of a network's layers as Kronecker products: what EK-FAC, TKFAC and Shampoo share.

The block of a layer W (out, in) in the Gauss–Newton matrix is (1/n) Σ_i Σ_c vec(D_ic) vec(D_ic)ᵀ with D_ic = Σ_t g_ict
ā_itᵀ, ā its input (a 1 appended for the bias) and g_c the derivatives of R_c at its output (`loss_roots`). Each method
has a basis U_G ⊗ U_A and the eigenvalues Λ that it gives the block in it:

    X = U_G [(U_Gᵀ V U_A) / (Λ + λ + damping)] U_Aᵀ

Blocks between layers are dropped. Parameters of other layers (normalisation, embeddings, shared weights) have their
diagonal of the Gauss–Newton matrix. Nothing is sampled while the classes are few: see `loss_roots`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.gauss_newton import GaussNewton
from engine.curvature.graphs import graph_bytes
from engine.curvature.layers import Captured, CurvatureLayer, captured, factored_layers
from engine.curvature.loss_roots import LossRoots
from engine.curvature.model import CurvedModule
from engine.curvature.shifts import Shift, mean_over, smallest
from engine.curvature.solution import Solution, column_blocks, measured
from engine.gradients.vectorised import along_signal, gradients_of

ROWS = {"cpu": 64, "cuda": 1024}
"""At most so many training examples at once."""
Read = Callable[[Tensor], Tensor]
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
class KroneckerFactors:
    """The eigenbases of the factored layers, and the diagonal (p,) of all other parameters by their name."""

    layers: tuple[CurvatureLayer, ...]
    bases: tuple[Basis, ...]
    diagonal: dict[str, Tensor]

    def inverse(self, problem: CurvedModule, vectors: Tensor, shift: Shift) -> Tensor:
        """(curvature + shift)⁻¹ V for V (P, b), shift > 0, of which a layer has the mean over its entries;
        4·k·out·(in + out) operations a layer and column."""
        def inverted(*names: str) -> Read:
            own = mean_over(shift, *(problem.network.slices[name] for name in names))
            return lambda values: 1 / (values + own)

        return self._applied(problem, vectors, inverted)

    def applied(self, problem: CurvedModule, vectors: Tensor, read: Read) -> Tensor:
        """f(curvature) V for V (P, b), f read off eigenvalues of any shape, entry by entry."""
        return self._applied(problem, vectors, lambda *names: read)

    def _applied(self, problem: CurvedModule, vectors: Tensor, reading: Callable[..., Read]) -> Tensor:
        """reading: names of a layer's parameters -> f there."""
        values = problem.network.unflatten(vectors.T)
        scaled = {name: values[name] * reading(name)(diagonal) for name, diagonal in self.diagonal.items()}
        for layer, basis in zip(self.layers, self.bases, strict=True):
            read = reading(*layer.names)
            whole = layer.to_matrix(values)
            inner = whole @ basis.inputs
            turned = basis.outputs @ ((basis.outputs.T @ inner) * read(basis.values)) @ basis.inputs.T
            if basis.inputs.shape[1] < layer.inputs:
                turned += (whole - inner @ basis.inputs.T) * read(basis.values.new_zeros(()))
            scaled |= layer.from_matrix(turned)
        return problem.network.flatten(scaled).T


@dataclass(frozen=True)
class Point:
    """A model, with what is read of it: the layers are its own modules."""

    problem: CurvedModule
    layers: tuple[CurvatureLayer, ...]
    roots: LossRoots

    @classmethod
    def of(cls, problem: CurvedModule) -> Point:
        """A problem at θ_D."""
        return cls(problem, factored_layers(problem), LossRoots(problem))


def solved(operator: GaussNewton, rhs: Tensor, title: str, factors: Callable[[], KroneckerFactors],
           columns: int | None) -> Solution:
    """(curvature + δI)⁻¹ rhs (P, b) by the factors of a method with this title. The residual is measured against the
    Gauss–Newton matrix, which the factors approximate, for `columns` columns (all where it is None). Raises
    `InvalidInput` where λ + δ is zero, because the Gauss–Newton matrix is singular."""
    problem, options = operator.problem, operator.options
    shift = problem.l2 + operator.damping
    if smallest(shift) <= 0:
        raise InvalidInput(f"{title} divides by l2 + damping, which is zero here; use an l2 or a damping above zero.")
    factored = factors()
    x = torch.empty_like(rhs)
    for block in column_blocks(operator, rhs.shape[1], MATRICES):
        options.check()
        x[:, block] = factored.inverse(problem, rhs[:, block], shift)
    info = {"factored": 1.0, "layers": float(len(factored.layers)),
            "diagonal_parameters": float(sum(d.numel() for d in factored.diagonal.values()))}
    return measured(operator, x, rhs, info, columns=columns)


def factors_by(problem: CurvedModule, key: str, second_moments: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
               eigenvalues: Callable[[Tensor, Tensor], Tensor], options: Options) -> KroneckerFactors:
    """Out of a matrix over outputs and one over inputs a layer, kept on the problem under `key`.

    second_moments: g (b, t, out) and ā (b, t, in) of one direction R_c -> (out, out) and (in, in), which are summed
    over examples and directions, and divided by n. eigenvalues: those of both, (out,) and (in,) -> Λ (out, in).
    """
    def build() -> tuple[tuple[Basis, ...], dict[str, Tensor]]:
        point = Point.of(problem)
        summed = [(problem.theta.new_zeros(layer.outputs, layer.outputs).double(),
                   problem.theta.new_zeros(layer.inputs, layer.inputs).double()) for layer in point.layers]
        for inputs, directions in Derivatives(point, options):
            for derived in directions:
                for (of_outputs, of_inputs), g, a in zip(summed, derived, inputs, strict=True):
                    left, right = second_moments(g, a)
                    of_outputs.add_(left, alpha=1 / problem.n)
                    of_inputs.add_(right, alpha=1 / problem.n)
        bases = []
        for pair in summed:
            (g, u), (a, v) = map(torch.linalg.eigh, pair)
            values = eigenvalues(g.clamp_min(0), a.clamp_min(0))
            bases.append(Basis(*(each.to(problem.theta.dtype) for each in (v, u, values))))
        return tuple(bases), diagonal_of([point], options)

    return KroneckerFactors(factored_layers(problem), *problem.memo(key, build))  # of the model's own modules


class Derivatives:
    """ā (b, t, in) of every factored layer and, direction R_c after direction, g (b, t, out) of all of them, a chunk of
    training examples at a time; nothing where no layer is factored.

    hold: bytes. Where everything fits in them, it is held from the first iteration on; else, and by default, each
    iteration takes a forward pass and a backward pass a direction.
    """

    def __init__(self, point: Point, options: Options, hold: int = 0) -> None:
        self.point, self.options, self.room = point, options, hold
        self.held: list[tuple[tuple[Tensor, ...], list[list[Tensor]]]] = []

    def __iter__(self) -> Iterator[tuple[tuple[Tensor, ...], Iterable[list[Tensor]]]]:
        if self.held:
            yield from self.held
            return
        problem, layers = self.point.problem, self.point.layers
        for rows in chunks_of(problem, layers, self.options):
            self.options.check()
            seen = captured(problem, layers, problem.x[rows])
            directions: list[list[Tensor]] = []
            self._hold(self.held, (seen.inputs, directions), seen.inputs)
            yield seen.inputs, self._pulled(seen, rows, directions)

    def _pulled(self, seen: Captured, rows: Tensor, directions: list[list[Tensor]]) -> Iterator[list[Tensor]]:
        for direction in self.point.roots(rows, seen.logits):
            derived = seen.pull(direction)
            self._hold(directions, derived, derived)
            yield derived

    def _hold(self, into: list, value: Any, tensors: Iterable[Tensor]) -> None:
        self.room -= sum(tensor.nbytes for tensor in tensors)
        if self.room >= 0:
            into.append(value)
        else:
            self.held.clear()


def chunks_of(problem: CurvedModule, layers: tuple[CurvatureLayer, ...], options: Options) -> tuple[Tensor, ...]:
    """The training examples (b,) of each pass that captures these layers; none where there are none."""
    if not layers:
        return ()
    shapes = [(t, layer.outputs, layer.inputs)
              for layer, t in zip(layers, positions(problem, layers), strict=True)]
    each = sum(4 * t * (out + inn) + (t > 1) * out * inn for t, out, inn in shapes) * _item(problem)
    return _chunks(problem, each + graph_bytes(problem), options)


def positions(problem: CurvedModule, layers: tuple[CurvatureLayer, ...]) -> list[int]:
    """The most t of every layer."""
    longest = problem.link.by_length(problem.x, torch.arange(problem.n, device=problem.device))[-1:]
    return [a.shape[1] for a in captured(problem, layers, problem.x[longest]).inputs]


def diagonal_of(points: Sequence[Point], options: Options) -> dict[str, Tensor]:
    """Of the parameters that are in no factored layer, by name: (1/n) Σ_i Σ_c (J_iᵀ R_ic)², the mean over models."""
    covered = {name for layer in points[0].layers for name in layer.names}
    others = [name for name in points[0].problem.network.names if name not in covered]
    each = [_diagonal(point, others, options) for point in points] if others else []
    return {name: torch.stack([own[name] for own in each]).mean(0) for name in others}


def _diagonal(point: Point, names: list[str], options: Options) -> dict[str, Tensor]:
    """Example by example."""
    problem = point.problem
    own = problem.network.unflatten(problem.theta)
    sizes = [own[name].numel() for name in names]
    total = problem.theta.new_zeros(sum(sizes))
    for rows in _chunks(problem, 3 * sum(sizes) * _item(problem), options):
        with torch.no_grad():
            outputs = problem.link.outputs(problem.x[rows], own)
        for direction in point.roots(rows, outputs):
            gradients = gradients_of(problem.network, problem.x[rows], direction, along_signal,
                                     budget=options.budget // 4, names=names, link=problem.link, check=options.check)
            total += gradients.square().sum(0) / problem.n
    return {name: own_part.view(own[name].shape) for name, own_part in zip(names, total.split(sizes), strict=True)}


def _chunks(problem: CurvedModule, bytes_each: int, options: Options) -> tuple[Tensor, ...]:
    size = min(ROWS[problem.device.type], max(1, options.budget // 4 // bytes_each))
    return problem.link.by_length(problem.x, torch.arange(problem.n, device=problem.device)).split(size)


def _item(problem: CurvedModule) -> int:
    return problem.theta.element_size()
