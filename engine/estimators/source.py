r"""SOURCE: the derivative of a training whose curvature and gradients are averaged over segments (Bae et al. 2024).

The run is cut into L segments. With H_ℓ and ∇̄_ℓℓ(z_k) means over some of a segment's states, and τ_ℓ the sum of its
learning rates, divided by 1 − μ under momentum, a segment is followed as a gradient flow:

    S_ℓ = exp(−τ_ℓ H_ℓ),     F_ℓ = (I − S_ℓ) H_ℓ⁻¹,     dθ_T/dα = −Σ_ℓ (Π_{ℓ'>ℓ} S_ℓ') F_ℓ ∇̄_ℓℓ(z_k)

H_ℓ is a mean over all examples, with the weight decay of the training: which of them were in a batch, and when, is
averaged out. Where a long run has come to rest in one segment, F is the inverse Hessian. For a network H_ℓ is the
Gauss–Newton matrix in EK-FAC's eigenbasis of the segment; for softmax regression it is the Hessian itself, by its
eigendecomposition. `flow` may give way to the steps themselves, S = (I − η̄H)^K (`powers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Protocol, cast

import torch
from torch import Tensor

from engine.basics.errors import InvalidInput
from engine.basics.options import Options
from engine.curvature.ekfac import Factors, factors_over
from engine.curvature.hessian import Hessian
from engine.curvature.lanczos import Ritz, lanczos
from engine.estimators.estimator import Estimator
from engine.exact.replay import STEPS, kept_descent, kept_run, run_response, training_of
from engine.exact.response import GradientPart, Response
from engine.gradients.products import TrainingGradients
from engine.gradients.vectorised import along_signal, gradients_of
from engine.models import softmax
from engine.problems import ModuleProblem, Problem, SoftmaxProblem
from engine.question.interventions import Intervention
from engine.question.processes import Replay

SEGMENTS = 3
POINTS = 4
"""States of a segment over which curvature and gradients are averaged."""

KRYLOV = 80
"""Vectors of a Lanczos space: e^{−τλ} needs about √(τλ) of them."""

Read = Callable[[Tensor], Tensor]


class Averaged(Protocol):
    """A mean curvature that functions can be read off."""

    @property
    def largest(self) -> float:
        """Its largest eigenvalue; infinite where that is not known."""

    def applied(self, columns: Tensor, read: Read) -> Tensor:
        """f(H) V for V (P, r), f read off eigenvalues entry by entry."""


@dataclass(frozen=True)
class Eigenbasis:
    """Of a symmetric matrix: values (P,), vectors (P, P)."""

    values: Tensor
    vectors: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> Eigenbasis:
        """Of a matrix (P, P)."""
        return cls(*torch.linalg.eigh(matrix))

    @property
    def largest(self) -> float:
        return float(self.values[-1])

    def applied(self, columns: Tensor, read: Read) -> Tensor:
        """f(H) V."""
        inner = self.vectors.T @ columns.to(self.vectors)
        return (self.vectors @ (read(self.values)[:, None] * inner)).to(columns)


@dataclass(frozen=True)
class Krylov:
    """(1/C) Σ_c ∇²L_data(θ_c) of a network as a product with vectors, (P, 1) -> (P, 1): functions of it are read off
    Lanczos spaces of KRYLOV vectors, one a column."""

    product: Callable[[Tensor], Tensor]
    latest: dict[str, object] = field(default_factory=dict, compare=False, repr=False)
    largest: float = math.inf

    def applied(self, columns: Tensor, read: Read) -> Tensor:
        """f(H) V, right to rounding where the space holds V's part of the spectrum."""
        if self.latest.get("columns") is not columns:
            spaces = [lanczos(lambda vector: self.product(vector[:, None])[:, 0], column, KRYLOV)
                      for column in columns.T]
            self.latest.update(columns=columns, spaces=spaces)
        found = [column.norm() * (own.basis.T @ (own.coordinates @ (own.coordinates[0] * read(own.values))).to(column))
                 for column, own in zip(columns.T, cast(list[Ritz], self.latest["spaces"]), strict=True)]
        return torch.stack(found, 1)


@dataclass(frozen=True)
class Factored:
    """EK-FAC's eigenbasis of a network."""

    problem: ModuleProblem
    factors: Factors
    largest: float = math.inf

    def applied(self, columns: Tensor, read: Read) -> Tensor:
        """f(H) V."""
        return self.factors.applied(self.problem, columns, read)


Form = Callable[[float, int, Tensor], tuple[Tensor, Tensor]]
"""(τ, K steps, eigenvalues) -> those of S and of F."""


def flow(time: float, steps: int, values: Tensor) -> tuple[Tensor, Tensor]:
    """e^{−τλ} and (1 − e^{−τλ})/λ, which is τ at λ = 0."""
    there = values.abs() > torch.finfo(values.dtype).tiny ** 0.5
    safe = torch.where(there, values, 1.0)
    return (-time * values).exp(), torch.where(there, -(-time * safe).expm1() / safe, time)


def powers(time: float, steps: int, values: Tensor) -> tuple[Tensor, Tensor]:
    """(1 − ηλ)^K and η Σ_{j<K} (1 − ηλ)^j with η = τ/K."""
    eta = time / steps
    shrunk = (1 - eta * values) ** steps
    there = values.abs() * eta > 1e-9
    safe = torch.where(there, values, 1.0)
    return shrunk, torch.where(there, (1 - shrunk) / safe, time)


@dataclass(frozen=True)
class Segment:
    """time: τ. steps: K. decay: λ of the weight decay, on top of the curvature. along: u (r, P) -> (r, b), the mean
    of ⟨u, ∇ℓ(z_k)⟩ over the segment's states for all candidates."""

    time: float
    steps: int
    decay: float
    curvature: Averaged
    along: Callable[[Tensor], Tensor]

    @property
    def contracts(self) -> bool:
        """Whether steps of its mean size on its mean curvature come to rest: no eigenvalue above 2/η."""
        return self.time / self.steps * (self.curvature.largest + self.decay) <= 2

    def applied(self, columns: Tensor, form: Form, which: int) -> Tensor:
        """S V, or F V where `which` is 1, for V (P, r)."""
        return self.curvature.applied(columns, lambda values: form(self.time, self.steps, values + self.decay)[which])


def unrolled_segments(segments: Sequence[Segment], slopes: Tensor, form: Form = flow) -> Tensor:
    """dB/dα (r, b) for ∇B(θ_T) (r, P), from the last segment to the first."""
    columns, found = slopes.T, []
    for segment in reversed(segments):
        pulled = segment.applied(columns, form, 1)
        found.append(segment.along(pulled.T))
        columns = segment.applied(columns, form, 0)
    return -torch.stack(found).sum(0)


def cut(steps: int, segments: int, points: int) -> list[tuple[range, list[int]]]:
    """Equal stretches of steps 0, 1, …, and in each of them evenly spaced steps whose states stand for it."""
    ends = [steps * place // segments for place in range(segments + 1)]
    found = []
    for first, last in zip(ends, ends[1:], strict=False):
        count = min(points, last - first)
        if count:
            found.append((range(first, last), [first + (2 * place + 1) * (last - first) // (2 * count)
                                               for place in range(count)]))
    return found


def through_segments(problem: Problem, interventions: Sequence[Intervention], process: Replay, candidates: Tensor,
                     options: Options) -> list[Response]:
    """One response an intervention. Raises `InvalidInput` for a run of another optimizer than descent with momentum,
    and as `replay` does."""
    response = source_response(problem, process, candidates, options)
    return [response for _ in interventions]


@singledispatch
def source_response(problem: Problem, process: Replay, candidates: Tensor, options: Options, count: int = SEGMENTS,
                    points: int = POINTS, form: Form = flow, exact: bool = False) -> Response:
    """With so many segments, and states a segment. exact: with the mean Hessian itself. Raises as SOURCE does."""
    raise TypeError(f"no training run is known for {problem.noun}")


@source_response.register
def _of_module(problem: ModuleProblem, process: Replay, candidates: Tensor, options: Options, count: int = SEGMENTS,
               points: int = POINTS, form: Form = flow, exact: bool = False) -> Response:
    seeds, training = process.runs(problem.seed), training_of(problem, problem.seed)
    training.recipe.rule.flow(1.0)
    parts = [_of_run(problem, seed, candidates, options.share(place, len(seeds)), _Cut(count, points, exact), form)
             for place, seed in enumerate(seeds)]
    return run_response(parts, candidates, {STEPS: training.updates})


@dataclass(frozen=True)
class _Cut:
    """So many segments, and states a segment. exact: with the mean Hessian itself."""

    count: int
    points: int
    exact: bool


def _of_run(problem: ModuleProblem, seed: int, candidates: Tensor, options: Options, asked: _Cut,
            form: Form) -> GradientPart:
    network = kept_run(problem, seed, options)[1]
    segments = problem.memo("segments", lambda: _network_segments(problem, seed, candidates, options, asked),
                            (seed, tuple(candidates.tolist()), asked))

    def read(signal: Tensor) -> Tensor:
        slopes = gradients_of(network, problem.queries, signal.to(network.dtype), along_signal, check=options.check)
        return unrolled_segments(segments, slopes, form)

    return GradientPart(network.predict(problem.queries), read, len(candidates))


def _network_segments(problem: ModuleProblem, seed: int, candidates: Tensor, options: Options,
                      asked: _Cut) -> list[Segment]:
    run, _ = kept_run(problem, seed, options)
    stretches = cut(len(run.steps), asked.count, asked.points)
    wanted = {place for _, places in stretches for place in places}
    states = {place: moment[0] for place, moment in run.points.backwards(options.check) if place in wanted}
    found = []
    for number, (stretch, places) in enumerate(stretches):
        share = options.share(number, len(stretches))
        here = [problem.with_network(run.steps.trained(states[place])) for place in places]
        times, decays = zip(*(run.steps.rule.flow(run.steps.all[place].rate) for place in stretch), strict=True)
        averaged: Averaged = Krylov(_mean_product(here, share)) if asked.exact \
            else Factored(problem, factors_over(here, share))
        found.append(Segment(sum(times), len(stretch), decays[0], averaged, _mean_along(here, candidates, share)))
    return found


def _mean_product(problems: Sequence[ModuleProblem], options: Options) -> Callable[[Tensor], Tensor]:
    maps = [Hessian(problem, -problem.l2, options) for problem in problems]
    return lambda vectors: torch.stack([own @ vectors for own in maps]).mean(0)


def _mean_along(problems: Sequence[ModuleProblem], candidates: Tensor, options: Options) -> Callable[[Tensor], Tensor]:
    gradients = [TrainingGradients(problem, candidates, budget=options.budget // 4, check=options.check)
                 for problem in problems]

    def along(directions: Tensor) -> Tensor:
        return torch.stack([own.along(directions) for own in gradients]).mean(0)

    return along


@source_response.register
def _of_softmax(problem: SoftmaxProblem, process: Replay, candidates: Tensor, options: Options, count: int = SEGMENTS,
                points: int = POINTS, form: Form = flow, exact: bool = True) -> Response:
    """Its eigenbasis is exact anyway."""
    run = kept_descent(problem, process, options)
    segments = descent_segments(problem, process, candidates, options, count, points)

    def read(signal: Tensor) -> Tensor:
        slopes = (problem.queries[:, :, None] * signal[:, None]).flatten(1)
        return unrolled_segments(segments, slopes, form)

    part = GradientPart(problem.outputs(problem.queries, run.end.flatten()), read, len(candidates))
    return run_response([part], candidates, {STEPS: process.steps})


def descent_segments(problem: SoftmaxProblem, process: Replay, candidates: Tensor, options: Options,
                     count: int = SEGMENTS, points: int = POINTS) -> list[Segment]:
    """The segments of a descent, kept on the problem. Raises `InvalidInput` where the Hessian is too large to hold."""
    return problem.memo("segments", lambda: _descent_segments(problem, process, candidates, options, count, points),
                        (process.eta, process.steps, tuple(candidates.tolist()), count, points))


def _descent_segments(problem: SoftmaxProblem, process: Replay, candidates: Tensor, options: Options, count: int,
                      points: int) -> list[Segment]:
    if not problem.has_dense_hessian:
        raise InvalidInput(f"The eigenbasis of the Hessian needs a matrix of {problem.parameters:,} parameters; use "
                           f"fewer features (at most {softmax.DENSE_LIMIT:,} parameters), or `dvemb`.")
    run = kept_descent(problem, process, options)
    stretches = cut(process.steps, count, points)
    wanted = {place for _, places in stretches for place in places}
    states = {place: weights for place, weights in run.points.backwards(options.check) if place in wanted}
    found = []
    for number, (stretch, places) in enumerate(stretches):
        options.check()
        read = [run.read(states[place]) for place in places]
        hessian = torch.stack([softmax.hessian(p, problem.x, problem.penalty) for p, _ in read]).mean(0)
        signals = torch.stack([signal[candidates] for _, signal in read]).mean(0)
        x = problem.x[candidates]

        def along(directions: Tensor, x: Tensor = x, signals: Tensor = signals) -> Tensor:
            shaped = directions.view(len(directions), problem.dimension, problem.classes)
            return torch.einsum("rdc,bd,bc->rb", shaped, x, signals)

        found.append(Segment(process.eta * len(stretch), len(stretch), 0.0, Eigenbasis.of(hessian), along))
        options.progress((number + 1) / len(stretches))
    return found


SOURCE = Estimator(
    "source", "SOURCE", False,
    "The training followed through a few segments, each with one averaged curvature and averaged gradients, as a "
    "gradient flow.",
    "Bae et al. 2024", needs_gradient=True, routes={"replay": through_segments}, needs=("gradients",),
    unfit_interventions=("infinitesimal_during",),
)
